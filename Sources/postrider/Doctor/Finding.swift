/// Something that is wrong with a machine.
struct Finding: Encodable, Equatable {
    /// How bad it is.
    enum Severity: String, Encodable {
        /// The service does not start, or nobody reaches it.
        case failure
        /// The service runs, but is slower, smaller or less safe than it could be.
        case warning
    }

    let severity: Severity
    /// The file, address, name or setting of the kernel.
    let place: String
    /// What is wrong there.
    let problem: String
    /// What to do.
    let remedy: String

    static func failure(_ place: String, _ problem: String, _ remedy: String) -> Finding {
        Finding(severity: .failure, place: place, problem: problem, remedy: remedy)
    }

    static func warning(_ place: String, _ problem: String, _ remedy: String) -> Finding {
        Finding(severity: .warning, place: place, problem: problem, remedy: remedy)
    }

    /// One line for people.
    var line: String { "\(severity.rawValue): \(place): \(problem). \(remedy)." }

    /// The findings of several looks: failures before warnings, otherwise in their order.
    static func sorted(_ findings: [Finding]) -> [Finding] {
        findings.filter { $0.severity == .failure } + findings.filter { $0.severity == .warning }
    }
}
