"""Addresses of sign-in and of what belongs to no study."""

from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_not_required
from django.urls import path

from core import oidc, signin, views

urlpatterns = [
    path("accounts/openid/", login_not_required(oidc.Begin.as_view()), name="oidc_authentication_init"),
    path(
        "accounts/openid/back/",
        login_not_required(oidc.Callback.as_view()),
        name="oidc_authentication_callback",
    ),
    path("accounts/login/", signin.SignIn.as_view(), name="login"),
    path("accounts/logout/", auth.LogoutView.as_view(), name="logout"),
    path("accounts/confirm/", signin.confirm, name="confirm"),
    path("accounts/password/", signin.password, name="password"),
    path("accounts/tokens/new/", views.token_new, name="token_new"),
    path("accounts/tokens/", views.tokens, name="tokens"),
    path("accounts/tokens/<slug:prefix>/revoke/", views.token_revoke, name="token_revoke"),
    path("guides/", views.guide, name="guides"),
    path("guides/<slug:reader>/", views.guide, name="guide"),
    path("theme/", views.theme, name="theme"),
]
