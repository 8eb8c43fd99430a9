# SPDX-License-Identifier: Apache-2.0
#[[
Compiles models at build time:

    mote_add_model(<target> <model> [TARGET stm32l4r5] [RAM 16K] ... [OPTIONS --any-option ...])

makes <target>, a static library of the compiled model, whose header is <NAME>.h (NAME: by default that of the target).
In a build of Zephyr <target> is a Zephyr library; in a component of ESP-IDF, after idf_component_register(), the model is
added to the component, and <target> is only its name. Every option of `mote compile` is a keyword: --caller-arena is
CALLER_ARENA, --ram 16K is RAM 16K; options that are repeatable take several values.

The model is compiled again when it, a file that options name, an option or Mote itself has changed.

MOTE_PYTHON is the Python that has Mote, or MOTE_EXECUTABLE the command; by default the `mote` that is installed beside
this file, or on the path.
]]
include_guard(GLOBAL)
if(CMAKE_VERSION VERSION_LESS 3.20)
  message(FATAL_ERROR "mote_add_model() needs CMake 3.20 or later, which this is not: ${CMAKE_VERSION}")
endif()
cmake_policy(PUSH)
cmake_policy(VERSION 3.20...3.28)

# The command line of Mote.
function(_mote_command result)
  if(MOTE_PYTHON)
    set(command ${MOTE_PYTHON} -m mote)
  else()
    set(libraries ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../..)
    find_program(MOTE_EXECUTABLE mote HINTS ${libraries}/../../../bin ${libraries}/../../Scripts NO_CMAKE_FIND_ROOT_PATH)
    if(NOT MOTE_EXECUTABLE)
      message(FATAL_ERROR "mote is not on the path: set MOTE_PYTHON to the Python that has it, or MOTE_EXECUTABLE")
    endif()
    set(command ${MOTE_EXECUTABLE})
  endif()
  set(${result} ${command} PARENT_SCOPE)
endfunction()

# The lines that `mote cmake` prints; words in a line are separated by commas.
function(_mote_ask result)
  _mote_command(command)
  execute_process(
    COMMAND ${command} cmake ${ARGN}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    OUTPUT_VARIABLE lines
    ERROR_VARIABLE errors
    RESULT_VARIABLE status
    OUTPUT_STRIP_TRAILING_WHITESPACE
  )
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${errors}")
  endif()
  string(REPLACE "\n" ";" lines "${lines}")
  set(${result} ${lines} PARENT_SCOPE)
endfunction()

# The words after the name at the beginning of one of some lines.
function(_mote_words result name)
  foreach(line IN LISTS ARGN)
    if(line MATCHES "^${name}: *(.*)$")
      string(REPLACE "," ";" words "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  set(${result} ${words} PARENT_SCOPE)
endfunction()

# The keywords of mote_add_model(), asked for once, and again when Mote has changed.
function(_mote_keywords result)
  set(version "${MOTE_PYTHON}${MOTE_EXECUTABLE}")
  set(sources ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../ui/cli ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../options)
  list(TRANSFORM sources APPEND /*.py)
  file(GLOB_RECURSE files ${sources})
  foreach(file IN LISTS files)
    file(TIMESTAMP ${file} written "%s")
    string(APPEND version " ${written}")
  endforeach()
  string(SHA256 version "${version}")
  if(NOT version STREQUAL MOTE_KEYWORDS_VERSION)
    _mote_ask(keywords --keywords)
    set(MOTE_KEYWORDS "${keywords}" CACHE INTERNAL "Keywords of mote_add_model()")
    set(MOTE_KEYWORDS_VERSION ${version} CACHE INTERNAL "Mote whose keywords they are")
  endif()
  set(${result} "${MOTE_KEYWORDS}" PARENT_SCOPE)
endfunction()

# The target of Mote for the core that Zephyr or ESP-IDF builds for; nothing elsewhere.
function(_mote_core result)
  set(core)
  if(CONFIG_RISCV AND NOT CONFIG_64BIT)
    set(core rv32imc)
  endif()
  foreach(arm M0PLUS M3 M4 M7 M33 M55 M85)
    if(CONFIG_CPU_CORTEX_${arm})
      string(TOLOWER cortex-${arm} core)
    endif()
  endforeach()
  if(IDF_TARGET MATCHES "^esp32(c3|s3|p4)$")
    set(core ${IDF_TARGET})
  endif()
  set(${result} ${core} PARENT_SCOPE)
endfunction()

function(mote_add_model target model)
  _mote_command(command)
  _mote_keywords(keywords)
  _mote_words(switches switches ${keywords})
  _mote_words(values values ${keywords})
  _mote_words(lists lists ${keywords})
  cmake_parse_arguments(PARSE_ARGV 2 GIVEN "${switches}" "${values}" "${lists};OPTIONS")
  set(where "mote_add_model(${target})")
  if(GIVEN_UNPARSED_ARGUMENTS)
    list(SORT keywords)
    message(FATAL_ERROR "${where}: no keyword before: ${GIVEN_UNPARSED_ARGUMENTS}; ${keywords}")
  endif()
  if(GIVEN_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "${where}: no value after: ${GIVEN_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT DEFINED GIVEN_NAME)
    string(MAKE_C_IDENTIFIER "${target}" GIVEN_NAME)
  endif()
  if(NOT DEFINED GIVEN_TARGET)
    _mote_core(GIVEN_TARGET)
  endif()
  set(chosen)
  foreach(keyword IN LISTS switches values lists)
    string(TOLOWER "--${keyword}" option)
    string(REPLACE "_" "-" option "${option}")
    if(keyword IN_LIST switches)
      if(GIVEN_${keyword})
        list(APPEND chosen "${option}")
      endif()
    else()
      foreach(value IN LISTS GIVEN_${keyword})
        list(APPEND chosen "${option}=${value}")
      endforeach()
    endif()
  endforeach()

  set(about --target=${GIVEN_TARGET} --optimize=${GIVEN_OPTIMIZE})
  list(FILTER about EXCLUDE REGEX "=$")
  if(GIVEN_TRUST_TARGET)
    list(APPEND about --trust-target)
  endif()
  _mote_ask(flags --flags ${about})
  _mote_words(level level ${flags})
  _mote_words(only_gcc gcc ${flags})
  list(TRANSFORM only_gcc REPLACE ".+" "$<$<C_COMPILER_ID:GNU>:\\0>")

  get_filename_component(model "${model}" ABSOLUTE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/mote/${target})
  set(made ${folder}/${GIVEN_NAME}.c ${folder}/${GIVEN_NAME}.h)
  if(GIVEN_CPP)
    list(APPEND made ${folder}/${GIVEN_NAME}.hpp)
  endif()
  # A file that is written when options have changed: Make does not compare command lines.
  set(line "${command};${chosen};${GIVEN_OPTIONS};${model}")
  set(before)
  if(EXISTS ${folder}.options)
    file(READ ${folder}.options before)
  endif()
  if(NOT line STREQUAL before)
    file(WRITE ${folder}.options "${line}")
  endif()
  add_custom_command(
    OUTPUT ${made}
    COMMAND ${command} compile "${model}" ${chosen} ${GIVEN_OPTIONS} --single-file --force --depfile=${folder}.d -o
            ${folder}
    DEPENDS "${model}" ${folder}.options
    DEPFILE ${folder}.d
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMENT "Compiling the model ${target}"
    VERBATIM
  )

  if(COMMAND zephyr_library_named)
    zephyr_library_named(${target})
    zephyr_library_sources(${made})
    zephyr_include_directories(${folder})
    zephyr_library_compile_options(${level} ${only_gcc})
    add_custom_target(${target}_generated DEPENDS ${made})
    add_dependencies(zephyr_generated_headers ${target}_generated)
    if(TARGET zephyr_pre0 OR TARGET zephyr_final)
      # In an application the list of Zephyr's libraries has been read already; modules are before it.
      target_link_libraries(app PUBLIC ${target})
    endif()
  elseif(COMMAND idf_component_register AND COMPONENT_LIB)
    target_sources(${COMPONENT_LIB} PRIVATE ${made})
    target_include_directories(${COMPONENT_LIB} PUBLIC ${folder})
    set_source_files_properties(
      ${folder}/${GIVEN_NAME}.c PROPERTIES COMPILE_OPTIONS "${level};${only_gcc}"
    )
  else()
    add_library(${target} STATIC ${made})
    target_include_directories(${target} PUBLIC ${folder})
    set_target_properties(${target} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
    # The level of Mote's measurements where nobody says how to optimize.
    get_directory_property(given COMPILE_OPTIONS)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
    string(APPEND given " ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${config}}")
    if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang" AND NOT MSVC)
      target_compile_options(${target} PRIVATE ${only_gcc})
      if(NOT CMAKE_CONFIGURATION_TYPES AND NOT config STREQUAL "DEBUG" AND NOT given MATCHES "(^|[ ;])-O")
        target_compile_options(${target} PRIVATE ${level})
      endif()
    endif()
  endif()
endfunction()

cmake_policy(POP)
