/// Something that is wrong with a machine.
package struct Finding: Encodable, Equatable {
    /// How bad it is.
    package enum Severity: String, Encodable {
        /// The service does not start, or nobody reaches it.
        case failure
        /// The service runs, but is slower, smaller or less safe than it could be.
        case warning
    }

    package let severity: Severity
    /// The file, address, name or setting of the kernel.
    package let place: String
    /// What is wrong there.
    package let problem: String
    /// What to do.
    package let remedy: String

    package static func failure(_ place: String, _ problem: String, _ remedy: String) -> Finding {
        Finding(severity: .failure, place: place, problem: problem, remedy: remedy)
    }

    package static func warning(_ place: String, _ problem: String, _ remedy: String) -> Finding {
        Finding(severity: .warning, place: place, problem: problem, remedy: remedy)
    }

    /// One line for people.
    package var line: String { "\(severity.rawValue): \(place): \(problem). \(remedy)." }

    /// The findings of several looks: failures before warnings, otherwise in their order.
    package static func sorted(_ findings: [Finding]) -> [Finding] {
        findings.filter { $0.severity == .failure } + findings.filter { $0.severity == .warning }
    }

    /// Prints findings, and returns the exit code: 0 without any, 4 for warnings only, 1 for a failure.
    package static func tell(_ findings: [Finding], asJSON: Bool) throws -> Int32 {
        if asJSON {
            Console.say(try Console.json(findings))
        } else {
            for finding in findings { Console.say(finding.line) }
            if findings.isEmpty { Console.say("Nothing is wrong with this machine.") }
        }
        return findings.isEmpty ? 0 : findings[0].severity == .failure ? 1 : 4
    }
}
