import Foundation
import PostriderKit

// A small app: it registers for its topic and prints what its observers get.

if CommandLine.arguments.dropFirst().first == ExampleService.argument { ExampleService.main() }
exit(await ExampleApp.run(Array(CommandLine.arguments.dropFirst())))
