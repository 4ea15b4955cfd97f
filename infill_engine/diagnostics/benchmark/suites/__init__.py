"""What is measured. A plan is a list of units; each adds its lines to the results.

plan      the plans `quick` and `full`
running   the state of a run: loaded models, problems, the judge
passes    single forward passes, in blocks spread over the run
fight     ways of decoding on the same problems, in turn
quality   one way of decoding against passes, budget and candidates
drift     the same problems over and over in one process
"""
