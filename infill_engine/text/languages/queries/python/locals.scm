; Scopes. A class's names are seen by the statements of its body, not by the functions in it.
(module) @local.scope.function
(function_definition) @local.scope.function
(lambda) @local.scope.function
(class_definition) @local.scope.class
(class_definition superclasses: (argument_list (identifier) @local.base)) @local.scope.class
((assignment
  left: (identifier) @local.named
  right: (call function: [(identifier) @_made (attribute attribute: (identifier) @_made)]) @local.scope.class)
  (#match? @_made "^(namedtuple|NamedTuple)$"))
[
  (list_comprehension)
  (set_comprehension)
  (dictionary_comprehension)
  (generator_expression)
] @local.scope

; Inside the extent of a scope, but resolved outside of it.
(function_definition name: (identifier) @local.outer)
(class_definition name: (identifier) @local.outer)
(class_definition superclasses: (_) @local.outer)
(function_definition return_type: (_) @local.outer)
(default_parameter value: (_) @local.outer)
(typed_default_parameter type: (_) @local.outer)
(typed_default_parameter value: (_) @local.outer)
(typed_parameter type: (_) @local.outer)
(list_comprehension body: (_) . (for_in_clause right: (_) @local.outer))
(set_comprehension body: (_) . (for_in_clause right: (_) @local.outer))
(dictionary_comprehension body: (_) . (for_in_clause right: (_) @local.outer))
(generator_expression body: (_) . (for_in_clause right: (_) @local.outer))

; Definitions
(function_definition name: (identifier) @local.definition.function)
(class_definition name: (identifier) @local.definition.class)
(parameters (identifier) @local.definition.parameter)
(lambda_parameters (identifier) @local.definition.parameter)
(default_parameter name: (identifier) @local.definition.parameter)
(typed_default_parameter name: (identifier) @local.definition.parameter)
(typed_parameter (identifier) @local.definition.parameter type: (_) @local.type)
(parameters (list_splat_pattern (identifier) @local.definition.parameter))
(parameters (dictionary_splat_pattern (identifier) @local.definition.parameter))
(lambda_parameters (list_splat_pattern (identifier) @local.definition.parameter))
(lambda_parameters (dictionary_splat_pattern (identifier) @local.definition.parameter))
(typed_parameter (list_splat_pattern (identifier) @local.definition.parameter))
(typed_parameter (dictionary_splat_pattern (identifier) @local.definition.parameter))
(assignment left: (identifier) @local.definition.variable type: (_)? @local.type right: (_)? @local.value)
(augmented_assignment left: (identifier) @local.definition.variable)
(named_expression name: (identifier) @local.definition.variable)
(for_statement left: (identifier) @local.definition.variable)
(for_in_clause left: (identifier) @local.definition.variable)
(pattern_list (identifier) @local.definition.variable)
(tuple_pattern (identifier) @local.definition.variable)
(list_pattern (identifier) @local.definition.variable)
(pattern_list (list_splat_pattern (identifier) @local.definition.variable))
(tuple_pattern (list_splat_pattern (identifier) @local.definition.variable))
(list_pattern (list_splat_pattern (identifier) @local.definition.variable))
(as_pattern_target (identifier) @local.definition.variable)
(as_pattern_target (tuple (identifier) @local.definition.variable))
(case_pattern (dotted_name . (identifier) @local.definition.variable .))
(keyword_pattern (dotted_name . (identifier) @local.definition.variable .))
(splat_pattern (identifier) @local.definition.variable)
((call
  function: [(identifier) @_made (attribute attribute: (identifier) @_made)]
  arguments: (argument_list . (_) . [
    (string (string_content) @local.definition.member @local.words)
    (list (string (string_content) @local.definition.member))
    (tuple (string (string_content) @local.definition.member))
    (list (tuple . (string (string_content) @local.definition.member)))
  ]))
  (#match? @_made "^(namedtuple|NamedTuple)$"))
(import_statement name: (dotted_name . (identifier) @local.definition.package . "."))
(import_statement name: (dotted_name . (identifier) @local.definition.module .))
(import_from_statement name: (dotted_name . (identifier) @local.definition.import .))
(aliased_import alias: (identifier) @local.definition.alias)

; A name that belongs to an outer scope, whatever is done with it here.
(global_statement (identifier) @local.global)
(nonlocal_statement (identifier) @local.nonlocal)

; References
(identifier) @local.reference
(type) @local.annotation
(string_content) @local.text

(assignment
  left: (identifier) @_exported
  right: [(list (string (string_content) @local.quoted)) (tuple (string (string_content) @local.quoted))]
  (#eq? @_exported "__all__"))

; Names that are looked up in something, not in a scope.
(attribute object: (_) @local.holder attribute: (identifier) @local.member)
(assignment
  left: (attribute attribute: (identifier) @local.member)
  type: (_)? @local.type
  right: (_)? @local.value)
(keyword_argument name: (identifier) @local.keyword)
(call function: (identifier) @local.named arguments: (argument_list (keyword_argument name: (identifier) @local.keyword)))
((call
  function: [(identifier) @_copies (attribute attribute: (identifier) @_copies)]
  arguments: (argument_list . (_) @local.holder (keyword_argument name: (identifier) @local.keyword)))
  (#match? @_copies "^(replace|evolve)$"))
((call
  function: (attribute object: (_) @local.holder attribute: (identifier) @_copies)
  arguments: (argument_list (keyword_argument name: (identifier) @local.keyword)))
  (#eq? @_copies "_replace"))
((call
  function: (identifier) @_reads
  arguments: (argument_list . (_) @local.holder . (string (string_content) @local.member)))
  (#match? @_reads "^([gs]et|has|del)attr$"))
((assignment
  left: (identifier) @_slots
  right: [
    (string (string_content) @local.own)
    (tuple (string (string_content) @local.own))
    (list (string (string_content) @local.own))
  ])
  (#match? @_slots "^__(slots|match_args)__$"))
(keyword_pattern . (identifier) @local.other)
(import_from_statement module_name: (_) @local.other)
(aliased_import name: (_) @local.other)
(import_statement name: (dotted_name . (identifier) (identifier) @local.other))
