extension Limits {
    /// Bytes of one file of the audit. A change takes about 300 bytes.
    public static let auditFileBytes = 4 << 20
    /// Files of the audit, the newest included: 32 MiB, about 100,000 changes.
    public static let auditFiles = 8
}
