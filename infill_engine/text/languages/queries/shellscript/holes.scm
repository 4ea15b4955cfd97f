(command argument: (_) @hole.argument)
(variable_assignment value: (_) @hole.argument)
(array (_) @hole.argument)
(test_command (_) @hole.argument)
(binary_expression (_) @hole.argument)
(for_statement value: (_) @hole.argument)
(case_statement value: (_) @hole.argument)
[(command_substitution) (expansion) (string)] @hole.argument

(program (_) @hole.statement)
(compound_statement (_) @hole.statement)
(do_group (_) @hole.statement)
(if_statement condition: (_) (_) @hole.statement)
(case_item value: (_) (_) @hole.statement)

[(compound_statement) (do_group)] @hole.block

(comment) @prose
(heredoc_body) @prose
