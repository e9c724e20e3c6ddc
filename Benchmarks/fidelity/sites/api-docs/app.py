"""An API of a bicycle rental."""

from fastapi.responses import HTMLResponse
from fastapi_offline import FastAPIOffline
from pydantic import BaseModel, Field

app = FastAPIOffline(title="Bicycle rental", description="Find, book and return bicycles.", version="2.1")


class Bicycle(BaseModel):
    id: int
    colour: str = Field(description="Colour of the frame")
    gears: int = 7


@app.get("/bicycles", tags=["bicycles"], summary="List all bicycles")
def bicycles() -> list[Bicycle]:
    return [Bicycle(id=i, colour=c) for i, c in enumerate(["red", "green", "turquoise"])]


@app.get("/bicycles/{number}", tags=["bicycles"], summary="Show one bicycle")
def bicycle(number: int) -> Bicycle:
    return Bicycle(id=number, colour="red")


@app.post("/bookings", tags=["bookings"], summary="Book a bicycle for a day")
def book(bicycle: Bicycle) -> dict:
    return {"booked": bicycle.id}


@app.get("/", response_class=HTMLResponse, include_in_schema=False)
def home() -> str:
    return """<!doctype html><title>Bicycle rental</title><h1>Bicycle rental</h1>
<p>Documents for developers:</p>
<ul><li><a href="/docs">Try the API</a><li><a href="/redoc">Read about the API</a></ul>"""
