"""The sections of a report, one file for each, in the order of the page."""

from mote.ui.reporter.section import Section
from mote.ui.reporter.sections import (
    accuracy,
    compare,
    cost,
    flash,
    front,
    graph,
    memory,
    overview,
    roofline,
    source,
    tryit,
)

SECTIONS: tuple[Section, ...] = (
    overview.SECTION,
    graph.SECTION,
    memory.SECTION,
    flash.SECTION,
    cost.SECTION,
    roofline.SECTION,
    front.SECTION,
    accuracy.SECTION,
    compare.SECTION,
    source.SECTION,
    tryit.SECTION,
)
