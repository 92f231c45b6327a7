# SPDX-License-Identifier: Apache-2.0
# Writes FILES into OUTPUT as one table, sorted by name: {path below BASE, text}.
set(text "// Made at build time from the files of ${SYMBOL}. Do not edit.\n")
string(APPEND text "#include \"sql/embedded.h\"\n\nnamespace pillarbox::sql {\nnamespace {\n")
string(APPEND text "constexpr EmbeddedFile kFiles[] = {\n")
list(SORT FILES)
foreach(file IN LISTS FILES)
  file(READ "${file}" content)
  file(RELATIVE_PATH name "${BASE}" "${file}")
  string(APPEND text "    {\"${name}\", R\"~~sql~~(${content})~~sql~~\"},\n")
endforeach()
string(APPEND text "};\n}  // namespace\n\nstd::span<const EmbeddedFile> ${SYMBOL}() noexcept { return kFiles; }\n")
string(APPEND text "}  // namespace pillarbox::sql\n")
file(WRITE "${OUTPUT}" "${text}")
