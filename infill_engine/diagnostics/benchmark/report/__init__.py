"""The report of a run: one HTML page that needs no network, and the same charts as PNGs.

charts    what a chart shows, as plain values
drawing   a chart as SVG
png       a chart as PNG, where matplotlib is installed
contents  the charts and tables of a run
page      all of it as one page
page.css  its style, light and dark
"""
