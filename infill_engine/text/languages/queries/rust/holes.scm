(arguments (_) @hole.argument)
(token_tree) @hole.argument
(array_expression (_) @hole.argument)
(field_initializer value: (_) @hole.argument)
(let_declaration value: (_) @hole.argument)
(binary_expression (_) @hole.argument)
(if_expression condition: (_) @hole.argument)
(match_arm value: (_) @hole.argument)
(index_expression (_) @hole.argument)
(reference_expression) @hole.argument
(type_arguments (_) @hole.argument)
(parameters (parameter) @hole.argument)
[(arguments) (call_expression) (field_expression) (scoped_identifier) (macro_invocation) (closure_expression)] @hole.argument

(source_file (_) @hole.statement)
(block (_) @hole.statement)
(declaration_list (_) @hole.statement)
(field_declaration_list (_) @hole.statement)
(match_block (_) @hole.statement)

[(block) (declaration_list) (match_block) (field_declaration_list)] @hole.block

[(line_comment) (block_comment)] @prose
