(arguments (_) @hole.argument)
(table_constructor (field) @hole.argument)
(expression_list (_) @hole.argument)
(binary_expression (_) @hole.argument)
(if_statement condition: (_) @hole.argument)
[(arguments) (function_call) (dot_index_expression) (bracket_index_expression) (parameters)] @hole.argument

(chunk (_) @hole.statement)
(block (_) @hole.statement)

(block) @hole.block

(comment) @prose
