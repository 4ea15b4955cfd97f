"""`infill-ls bench`: which model, budget and number of candidates to use on this machine.

problems          holes with their original text, and the judge of other texts
running           what is measured, and the measuring
results           raw lines, written as soon as they were measured
figures, verdict  the numbers, and what they recommend
"""
