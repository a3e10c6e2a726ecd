/// Something that is wrong with a machine.
struct Finding: Encodable, Equatable {
    /// How bad it is.
    enum Severity: String, Encodable, Comparable {
        /// The service does not start, or nobody reaches it.
        case failure
        /// The service runs, but is slower, smaller or less safe than it could be.
        case warning

        static func < (one: Severity, other: Severity) -> Bool { one == .failure && other == .warning }
    }

    let severity: Severity
    /// The file, address, name or setting of the kernel.
    let place: String
    /// What is wrong there.
    let problem: String
    /// What to do.
    let remedy: String

    /// One line for people.
    var line: String { "\(severity.rawValue): \(place): \(problem). \(remedy)." }

    /// The findings of several looks: failures before warnings, otherwise in their order.
    static func sorted(_ findings: [Finding]) -> [Finding] {
        findings.filter { $0.severity == .failure } + findings.filter { $0.severity == .warning }
    }
}
