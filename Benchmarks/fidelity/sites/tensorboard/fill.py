"""Writes two runs with two curves each and a text."""

import sys

from tensorboardX import SummaryWriter

for run, slope in ("morning", 2), ("evening", 3):
    writer = SummaryWriter(f"{sys.argv[1]}/{run}")
    for step in range(20):
        writer.add_scalar("loss/train", 9 / (1 + slope * step), step)
        writer.add_scalar("speed", slope * step, step)
    writer.add_text("remarks", f"The {run} run used a slope of {slope}.", 0)
    writer.close()
