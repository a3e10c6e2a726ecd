import Foundation

// An app as small as apps can be: it registers for its topic and prints what its observers are given.

exit(await ExampleApp.run(Array(CommandLine.arguments.dropFirst())))
