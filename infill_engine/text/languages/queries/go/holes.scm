(argument_list (_) @hole.argument)
(literal_value (_) @hole.argument)
(keyed_element (literal_element) @hole.argument)
(expression_list (_) @hole.argument)
(binary_expression (_) @hole.argument)
(unary_expression (_) @hole.argument)
(if_statement condition: (_) @hole.argument)
(index_expression index: (_) @hole.argument)
(parameter_list (parameter_declaration) @hole.argument)
[(argument_list) (call_expression) (selector_expression) (composite_literal)] @hole.argument

(source_file (_) @hole.statement)
(statement_list (_) @hole.statement)
(field_declaration_list (_) @hole.statement)

[(block) (field_declaration_list)] @hole.block

(comment) @prose
