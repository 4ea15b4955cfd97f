"""What is measured. A plan is a list of units; each adds its lines to the results.

plan      the plans `quick` and `full`
running   the state of a run: loaded models, problems, the judge
passes    single forward passes, in short turns
fight     ways of decoding on the same problems, in turn
quality   one way of decoding against passes, budget and candidates
drift     the same problems over and over in one process
processes processes that are replaced, spread over the run: passes and drift
"""
