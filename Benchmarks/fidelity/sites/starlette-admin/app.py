"""Boats and their owners in Starlette-Admin. User: admin, password: harbour."""

from sqlalchemy import ForeignKey, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from sqlalchemy.pool import StaticPool
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import RedirectResponse
from starlette.routing import Route
from starlette_admin.auth import AdminUser, AuthProvider
from starlette_admin.contrib.sqla import Admin, ModelView
from starlette_admin.exceptions import LoginFailed


class Base(DeclarativeBase):
    pass


class Owner(Base):
    __tablename__ = "owners"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    boats: Mapped[list["Boat"]] = relationship(back_populates="owner")


class Boat(Base):
    __tablename__ = "boats"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    length: Mapped[int]
    owner_id: Mapped[int] = mapped_column(ForeignKey("owners.id"))
    owner: Mapped[Owner] = relationship(back_populates="boats")


class Login(AuthProvider):
    async def login(self, username, password, remember_me, request):
        if (username, password) != ("admin", "harbour"):
            raise LoginFailed("Wrong name or password")
        request.session["user"] = username

    async def authenticate(self, request):
        return AdminUser(username="admin") if request.session.get("user") == "admin" else None

    async def logout(self, request):
        request.session.clear()


engine = create_engine("sqlite://", connect_args={"check_same_thread": False}, poolclass=StaticPool)
Base.metadata.create_all(engine)
with Session(engine) as session:
    for n, name in enumerate(["Ann", "Ben", "Cleo"]):
        owner = Owner(name=name)
        owner.boats = [
            Boat(name=f"{word} {n}", length=5 + n + i)
            for i, word in enumerate(["Albatross", "Beluga", "Comet", "Dolphin", "Eel", "Falcon"])
        ]
        session.add(owner)
    session.commit()
app = Starlette(routes=[Route("/", lambda r: RedirectResponse("/admin/"))])
admin = Admin(
    engine,
    title="Harbour",
    secret_key="only for this test",
    auth_provider=Login(),
    middlewares=[Middleware(SessionMiddleware, secret_key="only for this test")],
)
admin.add_view(ModelView(Boat))
admin.add_view(ModelView(Owner))
admin.mount_to(app)
