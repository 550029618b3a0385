# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Install rules: headers, one targets file per component, the package files, and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/heddle)

set_target_properties(heddle PROPERTIES EXPORT_NAME heddle)
install(TARGETS heddle EXPORT heddle-core-targets FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT heddle-core-targets NAMESPACE heddle:: DESTINATION ${package_dir})
get_property(components GLOBAL PROPERTY HEDDLE_COMPONENTS)
foreach(component IN LISTS components)
  install(TARGETS heddle_${component} EXPORT heddle-${component}-targets)
  install(EXPORT heddle-${component}-targets NAMESPACE heddle:: DESTINATION ${package_dir})
endforeach()

configure_package_config_file(cmake/heddle-config.cmake.in heddle-config.cmake INSTALL_DESTINATION ${package_dir}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(heddle-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heddle-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/heddle-config-version.cmake
        DESTINATION ${package_dir})

# The prefix stands relative to the .pc file, so that an installed tree can be moved.
set(pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)
file(RELATIVE_PATH heddle_pc_prefix /prefix/${pkgconfig_dir} /prefix)
configure_file(cmake/heddle.pc.in heddle.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heddle.pc DESTINATION ${pkgconfig_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
