(pair (_) (_) @hole.argument)
(array (_) @hole.argument)

[(pair) (table)] @hole.statement

(comment) @prose
