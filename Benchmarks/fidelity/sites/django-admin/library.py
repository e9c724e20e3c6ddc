"""A Django project in one file: authors and books in the admin. User: admin, password: garden."""

import sys

from django.conf import settings
from django.urls import path

settings.configure(
    DEBUG=True,
    SECRET_KEY="only for this test",
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    USE_TZ=True,
    STATIC_URL="/static/",
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "library.sqlite3"}},
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "django.contrib.staticfiles",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
)
import django  # noqa: E402

django.setup()
from django.contrib import admin  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, models  # noqa: E402


class Author(models.Model):
    name = models.CharField(max_length=80)
    country = models.CharField(max_length=40)

    class Meta:
        app_label = "auth"

    def __str__(self):
        return self.name


class Book(models.Model):
    title = models.CharField(max_length=80)
    author = models.ForeignKey(Author, models.CASCADE)
    year = models.IntegerField()
    lent = models.BooleanField(default=False)

    class Meta:
        app_label = "auth"

    def __str__(self):
        return self.title


@admin.register(Author)
class AuthorAdmin(admin.ModelAdmin):
    list_display, search_fields = ["name", "country"], ["name"]


@admin.register(Book)
class BookAdmin(admin.ModelAdmin):
    list_display, list_filter, search_fields = ["title", "author", "year", "lent"], ["lent"], ["title"]
    list_per_page, autocomplete_fields = 15, ["author"]
    fieldsets = [
        (None, {"fields": ["title", "author"]}),
        ("Details", {"classes": ["collapse"], "fields": ["year", "lent"]}),
    ]


urlpatterns = [path("admin/", admin.site.urls)]


def fill():
    from django.contrib.auth.models import User

    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        editor.create_model(Author)
        editor.create_model(Book)
    User.objects.create_superuser("admin", "admin@example.org", "garden")
    authors = [
        Author.objects.create(name=n, country=c)
        for n, c in [
            ("Ada Birch", "Norway"),
            ("Bo Cedar", "Kenya"),
            ("Cleo Fir", "Chile"),
            ("Dan Oak", "Nepal"),
        ]
    ]
    for i, noun in enumerate(
        "River Stone Lantern Harbour Meadow Winter Signal Copper Orchard Bridge".split()
    ):
        for j, word in enumerate(["The", "A Second", "Beyond the", "Under the"]):
            Book.objects.create(
                title=f"{word} {noun}", author=authors[(i + j) % 4], year=1950 + 7 * i + j, lent=i % 3 == 0
            )


if __name__ == "__main__":
    import pathlib

    if not pathlib.Path("ready").exists():
        pathlib.Path("library.sqlite3").unlink(missing_ok=True)
        fill()
        pathlib.Path("ready").touch()
    from django.core.management.commands.runserver import Command

    Command.check_migrations = lambda self: None
    call_command("runserver", f"127.0.0.1:{sys.argv[1]}", use_reloader=False)
