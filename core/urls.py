"""Addresses of sign-in and the home page."""

from django.contrib.auth import views as auth
from django.urls import path

urlpatterns = [
    path("accounts/login/", auth.LoginView.as_view(template_name="core/login.html"), name="login"),
    path("accounts/logout/", auth.LogoutView.as_view(), name="logout"),
]
