(select_expression (_) @hole.argument)
(list (_) @hole.argument)
(invocation) @hole.argument
(binary_expression (_) @hole.argument)
(where (_) @hole.argument)
(column_definition) @hole.argument

(statement) @hole.statement

[(comment) (marginalia)] @prose
