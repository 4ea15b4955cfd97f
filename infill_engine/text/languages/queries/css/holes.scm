(declaration (_) (_) @hole.argument)
(arguments (_) @hole.argument)
(selectors (_) @hole.argument)

(block (_) @hole.statement)
(stylesheet (_) @hole.statement)

(block) @hole.block

(comment) @prose
