"""A weather station."""

import sys

from dash import Dash, Input, Output, callback, dcc, html

app = Dash(__name__, suppress_callback_exceptions=True, title="Weather station")
app.layout = html.Div(
    [
        dcc.Location(id="url"),
        html.H1("Weather station"),
        dcc.Link("Rain", href="/rain"),
        " ",
        dcc.Link("Wind", href="/wind"),
        html.Div(id="page"),
    ]
)


@callback(Output("page", "children"), Input("url", "pathname"))
def page(path):
    if path == "/rain":
        return [
            html.H2("Rain"),
            dcc.Graph(figure={"data": [{"x": ["Mon", "Tue", "Wed"], "y": [3, 0, 7], "type": "bar"}]}),
        ]
    if path == "/wind":
        return [
            html.H2("Wind"),
            html.P("Mostly from the west."),
            dcc.Tabs(
                id="tabs",
                value="day",
                children=[dcc.Tab(label="By day", value="day"), dcc.Tab(label="By hour", value="hour")],
            ),
            html.Div(id="tab"),
        ]
    return html.P("Choose rain or wind.")


@callback(Output("tab", "children"), Input("tabs", "value"))
def tab(value):
    return "Gusts at noon on each day" if value == "day" else "Calm before sunrise"


app.run(port=int(sys.argv[1]), debug=False)
