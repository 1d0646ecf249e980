"""Settings, read from the environment; without any, everything lies in var/ and needs no service."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config import env, sentry

BASE_DIR = Path(__file__).resolve().parent.parent
HOME = env.folder("FALSESTEP_HOME", BASE_DIR / "var")
if HOME == BASE_DIR / "var" and HOME.stat().st_mode & 0o077:
    HOME.chmod(0o700)

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
    "core.health.AnswerHealth",
    "core.middleware.Observe",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "core.visible.ShowHidden",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "core.sessions.IdleLimit",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "core.sudo.ConfirmMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "core.middleware.AnswerHead",
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


def _private(path: Path) -> Path:
    """Return the path of the embedded database, which its owner alone may read; SQLite gives its log the same mode."""
    path.touch(mode=0o600)
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return path


def _database() -> dict[str, Any]:
    if DATABASE_URL:
        try:
            found: dict[str, Any] = dict(
                dj_database_url.parse(DATABASE_URL, conn_max_age=60, conn_health_checks=True)
            )
        except ValueError as error:  # without the value: it may hold a password
            raise ImproperlyConfigured(
                "DATABASE_URL cannot be read; it looks like postgres://user:password@host:5432/name"
            ) from error
        if "postgresql" in found["ENGINE"] and env.flag("FALSESTEP_PREPARE_STATEMENTS", True):
            found["OPTIONS"] = {"prepare_threshold": 5, **found.get("OPTIONS", {})}
        return found
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": _private(HOME / "falsestep.sqlite3"),
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
# What all web processes count together; where there is no Redis there is one process.
CACHES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "falsestep",
        "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
    }
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}
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

# A form or a body of the API; files come by commands, which have limits of their own.
DATA_UPLOAD_MAX_MEMORY_SIZE = env.integer("FALSESTEP_MAX_FORM_KB", 2560, minimum=64) * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000
DATA_UPLOAD_MAX_NUMBER_FILES = 0
FILE_UPLOAD_MAX_MEMORY_SIZE = DATA_UPLOAD_MAX_MEMORY_SIZE

SESSION_ENGINE = "core.session_rows"
SESSION_COOKIE_AGE = SESSION_SECONDS
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
if HTTPS:  # a neighbouring host name of the same domain cannot set these
    SESSION_COOKIE_NAME = "__Host-sessionid"
    CSRF_COOKIE_NAME = "__Host-csrftoken"

# Signing in by an OpenID provider: optional, see docs/operations.md.
OIDC_RP_CLIENT_ID = env.text("FALSESTEP_OIDC_CLIENT_ID")
OIDC_NAME = env.text("FALSESTEP_OIDC_NAME", "OpenID") if OIDC_RP_CLIENT_ID else ""
OIDC_RP_CLIENT_SECRET = env.text("FALSESTEP_OIDC_CLIENT_SECRET")
OIDC_ISSUER = env.text("FALSESTEP_OIDC_ISSUER")
OIDC_OP_AUTHORIZATION_ENDPOINT = env.text("FALSESTEP_OIDC_AUTHORIZATION_URL")
OIDC_OP_TOKEN_ENDPOINT = env.text("FALSESTEP_OIDC_TOKEN_URL")
OIDC_OP_USER_ENDPOINT = env.text("FALSESTEP_OIDC_USERINFO_URL")
OIDC_OP_JWKS_ENDPOINT = env.text("FALSESTEP_OIDC_JWKS_URL")
OIDC_RP_SIGN_ALGO = env.text("FALSESTEP_OIDC_ALGORITHM", "RS256")
OIDC_CREATE_USER = env.flag("FALSESTEP_OIDC_CREATE")
OIDC_RP_SCOPES = "openid email profile"
OIDC_USE_PKCE = True
OIDC_TIMEOUT = 10
LOGIN_REDIRECT_URL_FAILURE = "/accounts/login/"
if OIDC_RP_CLIENT_ID:
    AUTHENTICATION_BACKENDS.append("core.oidc.Backend")

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
        "DeliveryStatusEnum": "core.models.Delivery.Status",
        "WebhookEventEnum": "core.models.Webhook.Event",
        "ConditionEnum": "monitoring.models.Condition",
        "DecisionChoiceEnum": "adjudication.models.Decision.Choice",
        "RulingEnum": "adjudication.api.serializers.RULINGS",
    },
}

# Webhooks to hosts of this network, and without TLS.
WEBHOOKS_PRIVATE = env.flag("FALSESTEP_WEBHOOKS_PRIVATE")

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = HOME / "static"
STATIC_ROOT.mkdir(exist_ok=True)  # WhiteNoise warns of a missing folder at each start
STATICFILES_DIRS = [BASE_DIR / "static", ("pictures", BASE_DIR / "docs" / "pictures")]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "core.storage.StaticFiles"},
}
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

# What the site tells Prometheus, to whoever has the token or asks from one of these networks; to nobody by default.
METRICS_TOKEN = env.text("FALSESTEP_METRICS_TOKEN")
METRICS_NETWORKS = env.words("FALSESTEP_METRICS_NETWORKS")

LOG_FORMAT = env.text("FALSESTEP_LOG_FORMAT", "line" if EMBEDDED else "json")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
        "json": {"()": "core.logs.JsonFormatter"},
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "json" if LOG_FORMAT == "json" else "line"}
    },
    "loggers": {"falsestep.request": {"level": "INFO" if LOG_FORMAT == "json" else "NOTSET"}},
    "root": {"handlers": ["stderr"], "level": env.text("FALSESTEP_LOG_LEVEL", "WARNING")},
}

SENTRY_DSN = env.text("FALSESTEP_SENTRY_DSN")
if SENTRY_DSN:
    sentry.start(SENTRY_DSN)
