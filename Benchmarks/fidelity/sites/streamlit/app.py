import pandas as pd
import streamlit as st

st.title("Harvest")
st.write("Apples and pears by year.")
data = pd.DataFrame(
    {"year": list(range(2015, 2023)), "apples": [3, 5, 2, 8, 6, 7, 9, 4], "pears": [1, 2, 2, 3, 5, 4, 6, 7]}
)
fruit = st.radio("Fruit", ["apples", "pears"])
st.metric("Total", int(data[fruit].sum()))
st.bar_chart(data, x="year", y=fruit)
chart, table = st.tabs(["Remarks", "Numbers"])
chart.write("The frost of 2017 cost half of the blossoms.")
table.table(data)
