; Scopes. A method does not see the variables around it, a block does.
(program) @local.scope.function
[
  (method)
  (singleton_method)
  (class)
  (module)
  (singleton_class)
] @local.scope.closed
[
  (block)
  (do_block)
  (lambda)
] @local.scope
(class) @local.scope.open
(class superclass: (superclass (constant) @local.base)) @local.scope.open
(module) @local.scope.open
((assignment
  left: (constant) @local.named
  right: (call receiver: (constant) @_made method: (identifier) @_makes) @local.scope.open)
  (#match? @_made "^(Struct|Data)$") (#match? @_makes "^(new|define)$"))

; Inside the extent of a scope, but resolved outside of it.
(method name: (_) @local.outer)
(singleton_method name: (_) @local.outer)
(class name: (_) @local.outer)
(module name: (_) @local.outer)
(class superclass: (_) @local.outer)

; Definitions
(class name: (constant) @local.definition.tag)
(module name: (constant) @local.definition.tag)
(program (method name: (identifier) @local.definition.routine))
(method name: (identifier) @local.definition.method)
(singleton_method name: (identifier) @local.definition.method)
(method_parameters (identifier) @local.definition.parameter)
(block_parameters (identifier) @local.definition.parameter)
(lambda_parameters (identifier) @local.definition.parameter)
(destructured_parameter (identifier) @local.definition.parameter)
(optional_parameter name: (identifier) @local.definition.parameter)
(splat_parameter name: (identifier) @local.definition.parameter)
(hash_splat_parameter name: (identifier) @local.definition.parameter)
(block_parameter name: (identifier) @local.definition.parameter)
(keyword_parameter name: (identifier) @local.definition.parameter)
(assignment left: (identifier) @local.definition.assigned right: (_) @local.value)
(operator_assignment left: (identifier) @local.definition.assigned)
(left_assignment_list (identifier) @local.definition.assigned)
(destructured_left_assignment (identifier) @local.definition.assigned)
(rest_assignment (identifier) @local.definition.assigned)
(exception_variable (identifier) @local.definition.assigned)
(for pattern: (identifier) @local.definition.assigned)

; References
(identifier) @local.reference.any
(constant) @local.reference
(call !receiver method: (identifier) @local.reference.call)
(instance_variable) @local.own
(simple_symbol) @local.reference.any @local.unsure
(alias) @local.unsure
(undef) @local.unsure
(pair key: (hash_key_symbol) @local.reference.any @local.unsure !value)
(keyword_pattern key: (hash_key_symbol) @local.reference.any @local.unsure !value)
(array_pattern) @local.unsure
(hash_pattern) @local.unsure
((call method: (identifier) @_method arguments: (argument_list (simple_symbol) @local.definition.accessor @local.certain))
  (#match? @_method "^attr_(reader|writer|accessor)$"))
((call
  receiver: (constant) @_made
  method: (identifier) @_makes
  arguments: (argument_list (simple_symbol) @local.definition.accessor @local.certain))
  (#match? @_made "^(Struct|Data)$") (#match? @_makes "^(new|define)$"))
((call method: (identifier) @_method arguments: (argument_list (string) @local.opaque))
  (#match? @_method "instance_variable_[gs]et"))

; Names that are looked up in something, not in a scope.
(call receiver: (_) @local.holder method: (identifier) @local.member.call)
(scope_resolution name: (_) @local.other)
(hash (pair key: (hash_key_symbol) @local.other value: (_)))
(array (pair key: (hash_key_symbol) @local.other value: (_)))
(argument_list (pair key: (hash_key_symbol) @local.keyword value: (_)))
((call
  receiver: (constant) @local.named
  method: (identifier) @_makes
  arguments: (argument_list (pair key: (hash_key_symbol) @local.keyword value: (_))))
  (#eq? @_makes "new"))
