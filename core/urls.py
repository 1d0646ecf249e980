"""Addresses of sign-in and of what belongs to no study."""

from django.contrib.auth import views as auth
from django.urls import path

from core import signin, views

urlpatterns = [
    path("accounts/login/", signin.SignIn.as_view(), name="login"),
    path("accounts/logout/", auth.LogoutView.as_view(), name="logout"),
    path("accounts/confirm/", signin.confirm, name="confirm"),
    path("accounts/password/", signin.password, name="password"),
    path("accounts/tokens/new/", views.token_new, name="token_new"),
    path("accounts/tokens/", views.tokens, name="tokens"),
    path("accounts/tokens/<slug:prefix>/revoke/", views.token_revoke, name="token_revoke"),
    path("theme/", views.theme, name="theme"),
]
