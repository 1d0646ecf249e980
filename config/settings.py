"""Settings, read from the environment; without any, everything lies in var/ and needs no service."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config import env

BASE_DIR = Path(__file__).resolve().parent.parent
HOME = env.folder("FALSESTEP_HOME", BASE_DIR / "var")

DEBUG = env.flag("FALSESTEP_DEBUG")
DATABASE_URL = env.text("DATABASE_URL")
REDIS_URL = env.text("REDIS_URL")
EMBEDDED = not DATABASE_URL
SITE_URL = env.text("FALSESTEP_SITE_URL", "http://127.0.0.1:8000")
HTTPS = SITE_URL.startswith("https://")
# Embedded, everything is one person's own machine, where a local model is no way into anybody's network.
ALLOW_PRIVATE_PROVIDERS = env.flag("FALSESTEP_ALLOW_PRIVATE_PROVIDERS", EMBEDDED)


def _secret_key() -> str:
    """Return FALSESTEP_SECRET_KEY; embedded, a random key is made once and kept beside the database."""
    key = env.text("FALSESTEP_SECRET_KEY")
    if key:
        return key
    if not EMBEDDED and not DEBUG:
        raise ImproperlyConfigured(
            "FALSESTEP_SECRET_KEY (or FALSESTEP_SECRET_KEY_FILE) must be set when DATABASE_URL is"
        )
    path = HOME / "secret_key"
    if not path.exists():
        draft = path.with_suffix(f".{secrets.token_hex(4)}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(48), encoding="ascii")
        try:
            path.hardlink_to(draft)  # of two first starts, one wins and both read the same key
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text(encoding="ascii")


SECRET_KEY = _secret_key()
ALLOWED_HOSTS = env.words("FALSESTEP_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
CSRF_TRUSTED_ORIGINS = [SITE_URL] if HTTPS else []

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "csp",
    "drf_spectacular",
    "config",
    "core",
    "annotation",
    "verification",
    "adjudication",
    "monitoring",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "core.sessions.IdleLimit",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "core.sudo.ConfirmMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


def _database() -> dict[str, Any]:
    if DATABASE_URL:
        try:
            found = dict(dj_database_url.parse(DATABASE_URL, conn_max_age=60, conn_health_checks=True))
        except ValueError as error:  # without the value: it may hold a password
            raise ImproperlyConfigured(
                "DATABASE_URL cannot be read; it looks like postgres://user:password@host:5432/name"
            ) from error
        if "postgresql" in found["ENGINE"] and env.flag("FALSESTEP_PREPARE_STATEMENTS", True):
            found["OPTIONS"] = {"prepare_threshold": 5, **found.get("OPTIONS", {})}
        return found
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": HOME / "falsestep.sqlite3",
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
        },
        # A file, since threads cannot race on a shared in-memory database as they do on a real one; named by
        # process, since the log of a killed run must not be taken for that of the next.
        "TEST": {"NAME": HOME / f"test-{os.getpid()}.sqlite3"},
    }


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "core.User"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
AUTHENTICATION_BACKENDS = ["core.people.PeopleBackend"]
# How many of the proxies before us are trusted to say where a request comes from.
PROXIES = env.integer("FALSESTEP_PROXIES", 1 if HTTPS else 0)
SUDO_MINUTES = env.integer("FALSESTEP_SUDO_MINUTES", 15, minimum=1)
IDLE_SECONDS = env.integer("FALSESTEP_IDLE_HOURS", 12, minimum=1) * 3600
SESSION_SECONDS = env.integer("FALSESTEP_SESSION_DAYS", 14, minimum=1) * 24 * 3600

SESSION_ENGINE = "core.session_rows"
SESSION_COOKIE_AGE = SESSION_SECONDS
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
if HTTPS:  # a neighbouring host name of the same domain cannot set these
    SESSION_COOKIE_NAME = "__Host-sessionid"
    CSRF_COOKIE_NAME = "__Host-csrftoken"
OIDC_NAME = ""

SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SECURE_SSL_REDIRECT = HTTPS and env.flag("FALSESTEP_SSL_REDIRECT", True)
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "font-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

# rest_framework itself is no installed app: that would only serve its jQuery and Bootstrap to nobody.
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "core.api.authentication.TokenAuthentication",
        "core.api.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["core.api.permissions.HasScope"],
    "DEFAULT_THROTTLE_CLASSES": ["core.api.limits.PersonRate"],
    "DEFAULT_THROTTLE_RATES": {
        "person": env.text("FALSESTEP_API_RATE", "1200/min"),
        "heavy": env.text("FALSESTEP_API_HEAVY_RATE", "60/min"),
    },
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["core.api.limits.BoundedJSONParser"],
    "DEFAULT_METADATA_CLASS": None,
    "URL_FORMAT_OVERRIDE": None,
    "DEFAULT_SCHEMA_CLASS": "core.api.schema.AutoSchema",
    "EXCEPTION_HANDLER": "core.api.errors.answer",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Falsestep",
    "VERSION": "1",
    "DESCRIPTION": "Reading traces, settling disputes and running monitors, by program. See docs/api.md.",
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "SERVE_PERMISSIONS": ["core.api.permissions.HasScope"],
    "ENUM_NAME_OVERRIDES": {
        "BatchStatusEnum": "monitoring.models.Batch.Status",
        "QuestionStatusEnum": "annotation.models.Question.Status",
        "ConditionEnum": "monitoring.models.Condition",
        "DecisionChoiceEnum": "adjudication.models.Decision.Choice",
        "RulingEnum": "adjudication.api.serializers.RULINGS",
    },
}

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = HOME / "static"
STATIC_ROOT.mkdir(exist_ok=True)  # WhiteNoise warns of a missing folder at each start
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "core.finders.PackageFontFinder",
]
WHITENOISE_USE_FINDERS = EMBEDDED
WHITENOISE_AUTOREFRESH = False

CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
if REDIS_URL:
    CELERY_BROKER_URL = REDIS_URL
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
        "visibility_timeout": env.integer("FALSESTEP_VISIBILITY_TIMEOUT", 3600, minimum=1)
    }
else:
    _queue = HOME / "broker"
    for _part in ("messages", "processed", "control"):
        (_queue / _part).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_URL = "filesystem://localhost/"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(_queue / "messages"),
        "data_folder_out": str(_queue / "messages"),
        "processed_folder": str(_queue / "processed"),
        "control_folder": str(_queue / "control"),
        "store_processed": False,
    }

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": env.text("FALSESTEP_LOG_LEVEL", "WARNING")},
}
