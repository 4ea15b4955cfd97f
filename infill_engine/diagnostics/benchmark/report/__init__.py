"""The report of a run: one HTML page that needs no network, and the same charts as PNGs.

charts     what a chart shows, as plain values
drawing    a chart as SVG
png        a chart as PNG, where matplotlib is installed
contents   the charts and tables of a run
latency    those about typing
drift      those about drift
published  latencies that others published, with their sources
page       all of it as one page
page.css   its style, light and dark
"""
