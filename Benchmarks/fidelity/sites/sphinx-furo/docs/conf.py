project = "Loom"
html_theme = "furo"
extensions = ["sphinx_copybutton", "sphinx.ext.viewcode"]
html_show_sphinx = False
