"""Addresses of sign-in and of what belongs to no study."""

from django.contrib.auth import views as auth
from django.urls import path

from core import views

urlpatterns = [
    path("accounts/login/", auth.LoginView.as_view(template_name="core/login.html"), name="login"),
    path("accounts/logout/", auth.LogoutView.as_view(), name="logout"),
    path("accounts/tokens/", views.tokens, name="tokens"),
    path("accounts/tokens/<slug:prefix>/revoke/", views.token_revoke, name="token_revoke"),
    path("theme/", views.theme, name="theme"),
]
