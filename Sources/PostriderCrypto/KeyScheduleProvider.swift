internal import CPostriderOpenSSL
internal import Glibc

/// OpenSSL's door to the ``KeySchedule``: a provider (provider(7)) that has one function.
@safe enum KeyScheduleProvider {
    /// What an `SSL_CTX` that wants it is made with: this one where it has what is looked for, else any other.
    static let properties = "?provider=\(name)"

    private static let name = "postrider"

    /// Makes it known to the library, once. False: the library takes no provider.
    static let isKnown: Bool =
        unsafe OSSL_PROVIDER_add_builtin(
            nil, name,
            { _, _, functions, _ in
                unsafe functions?.pointee = UnsafePointer(provider)
                return 1
            }) == 1 && OSSL_PROVIDER_try_load(nil, name, 1) != nil

    // MARK: - What the library calls

    private typealias Context = UnsafeMutableRawPointer
    private typealias Query =
        @convention(c) (Context?, CInt, UnsafeMutablePointer<CInt>?) -> UnsafePointer<OSSL_ALGORITHM>?
    private typealias New = @convention(c) (Context?) -> Context?
    private typealias Free = @convention(c) (Context?) -> Void
    private typealias Derive =
        @convention(c) (Context?, UnsafeMutablePointer<UInt8>?, Int, UnsafePointer<OSSL_PARAM>?) -> CInt

    /// What the provider can do, which the library keeps hold of: tell its algorithms.
    nonisolated(unsafe) private static let provider = {
        let query: Query = { _, operation, isPassing in
            unsafe isPassing?.pointee = 0
            return unsafe operation == OSSL_OP_KDF ? UnsafePointer(algorithms) : nil
        }
        return unsafe table([
            entry(OSSL_FUNC_PROVIDER_QUERY_OPERATION, unsafeBitCast(query, to: Function.self)),
            OSSL_DISPATCH(),
        ])
    }()

    nonisolated(unsafe) private static let algorithms = unsafe table([
        OSSL_ALGORITHM(
            algorithm_names: strdup(OSSL_KDF_NAME_TLS1_3_KDF),
            property_definition: strdup("provider=\(name)"),
            implementation: derivation, algorithm_description: nil),
        OSSL_ALGORITHM(),
    ])

    /// A context is a schedule, which is used once.
    nonisolated(unsafe) private static let derivation = {
        let new: New = { _ in unsafe Unmanaged.passRetained(KeySchedule.current).toOpaque() }
        let free: Free = { schedule in
            if let schedule = unsafe schedule { unsafe Unmanaged<KeySchedule>.fromOpaque(schedule).release() }
        }
        let derive: Derive = { schedule, output, count, parameters in
            guard let schedule = unsafe schedule, let parameters = unsafe parameters else { return 0 }
            let isDone = unsafe Unmanaged<KeySchedule>.fromOpaque(schedule).takeUnretainedValue().derive(
                KeyOrder(parameters), into: UnsafeMutableRawBufferPointer(start: output, count: count))
            return isDone ? 1 : 0
        }
        return unsafe table([
            entry(OSSL_FUNC_KDF_NEWCTX, unsafeBitCast(new, to: Function.self)),
            entry(OSSL_FUNC_KDF_FREECTX, unsafeBitCast(free, to: Function.self)),
            entry(OSSL_FUNC_KDF_DERIVE, unsafeBitCast(derive, to: Function.self)), OSSL_DISPATCH(),
        ])
    }()

    private typealias Function = @convention(c) () -> Void

    private static func entry(_ identifier: CInt, _ function: @escaping Function) -> OSSL_DISPATCH {
        OSSL_DISPATCH(function_id: identifier, function: function)
    }

    /// A table of C's, for good.
    private static func table<Entry>(_ entries: [Entry]) -> UnsafeMutablePointer<Entry> {
        let start = UnsafeMutablePointer<Entry>.allocate(capacity: entries.count)
        unsafe start.initialize(from: entries, count: entries.count)
        return unsafe start
    }
}

/// What OpenSSL asks for (OSSL_PARAM(3)).
@safe struct KeyOrder {
    private(set) var mode: CInt = -1
    private(set) var hash: HKDF.Hash?
    private(set) var key = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private(set) var salt = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private(set) var label = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private(set) var data = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// Whether it is for TLS and not for DTLS, whose labels begin otherwise.
    private(set) var hasPrefix = false

    init(_ parameters: UnsafePointer<OSSL_PARAM>) {
        var parameter = unsafe parameters
        while let name = unsafe parameter.pointee.key {
            let value = unsafe UnsafeRawBufferPointer(
                start: parameter.pointee.data, count: parameter.pointee.data_size)
            if unsafe strcmp(name, OSSL_KDF_PARAM_KEY) == 0 {
                unsafe key = value
            } else if unsafe strcmp(name, OSSL_KDF_PARAM_LABEL) == 0 {
                unsafe label = value
            } else if unsafe strcmp(name, OSSL_KDF_PARAM_DATA) == 0 {
                unsafe data = value
            } else if unsafe strcmp(name, OSSL_KDF_PARAM_SALT) == 0 {
                unsafe salt = value
            } else if unsafe strcmp(name, OSSL_KDF_PARAM_PREFIX) == 0 {
                hasPrefix = unsafe value.spells("tls13 ")
            } else if unsafe strcmp(name, OSSL_KDF_PARAM_MODE) == 0 {
                _ = unsafe OSSL_PARAM_get_int(parameter, &mode)
            } else if unsafe strcmp(name, OSSL_KDF_PARAM_DIGEST) == 0 {
                hash = unsafe Self.hash(value)
            }
            unsafe parameter += 1
        }
    }

    private static func hash(_ name: UnsafeRawBufferPointer) -> HKDF.Hash? {
        guard let text = unsafe name.bindMemory(to: CChar.self).baseAddress else { return nil }
        if unsafe strcmp(text, "SHA256") == 0 || strcmp(text, "SHA2-256") == 0 { return .sha256 }
        return unsafe strcmp(text, "SHA384") == 0 || strcmp(text, "SHA2-384") == 0 ? .sha384 : nil
    }
}

extension UnsafeRawBufferPointer {
    /// Whether these bytes are those of a text.
    func spells(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount, let start = baseAddress else { return false }
        return unsafe memcmp(start, text.utf8Start, count) == 0
    }
}
