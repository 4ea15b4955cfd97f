(pair value: (_) @hole.argument)
(array (_) @hole.argument)

(object (pair) @hole.statement)

(comment) @prose
