internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

extension ProgramStart {
    /// Runs the program to its end, in a process group of its own. It blocks the calling thread.
    ///
    /// - Parameter eachLine: called with each line of its standard output as it arrives.
    /// - Throws: `TransportError` if the program cannot be started.
    public func runToEnd(eachLine: (String) -> Void) throws(TransportError) -> ProcessEnding {
        do throws(SystemError) {
            return try ProgramOutput.start(self).readToEnd(eachLine)
        } catch {
            throw TransportError("Cannot start \(path): \(error.text).")
        }
    }

    func spawn(writingTo output: consuming Descriptor) throws(SystemError) -> Int32 {
        let opened = systemCall("open") { unsafe Int(open("/dev/null", O_RDONLY | O_CLOEXEC)) }
        let input = Descriptor(owning: Int32(try opened.get()))
        return try spawn(StandardDescriptors(input: input.number, output: output.number))
    }

    /// The variables of this process's environment; of a name that occurs twice, the first one.
    public static var ownEnvironment: [String: String] {
        var variables: [String: String] = [:]
        var entry = unsafe csystem_environment()
        while let text = unsafe entry?.pointee {
            let words = unsafe String(cString: text).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if words.count == 2, variables[String(words[0])] == nil {
                variables[String(words[0])] = String(words[1])
            }
            unsafe entry? += 1
        }
        return variables
    }

    /// Returns the path of a program: its name if that has a slash, else the first executable file of this name in
    /// the folders of `PATH`; nil if there is none.
    public static func find(_ name: String, in environment: [String: String]) -> String? {
        if name.contains("/") { return name }
        let folders = (environment["PATH"] ?? "").split(separator: ":")
        return folders.lazy.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
    }
}
