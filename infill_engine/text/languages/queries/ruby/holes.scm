(argument_list (_) @hole.argument)
(array (_) @hole.argument)
(pair value: (_) @hole.argument)
(assignment right: (_) @hole.argument)
(binary (_) @hole.argument)
(if condition: (_) @hole.argument)
(unless condition: (_) @hole.argument)
(return (argument_list) @hole.argument)
(interpolation (_) @hole.argument)
(method_parameters (_) @hole.argument)
[(argument_list) (call) (element_reference) (hash) (string) (lambda)] @hole.argument

(program (_) @hole.statement)
(body_statement (_) @hole.statement)
(then (_) @hole.statement)
(else (_) @hole.statement)

[(body_statement) (then)] @hole.block

(comment) @prose
