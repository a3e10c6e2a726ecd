import Foundation
import PostriderKit

// An app as small as apps can be: it registers for its topic and prints what its observers are given.

if CommandLine.arguments.dropFirst().first == ExampleService.argument { ExampleService.main() }
exit(await ExampleApp.run(Array(CommandLine.arguments.dropFirst())))
