internal import PostriderCrypto
public import PostriderTransport

/// The interface through which a connection of PostriderTransport uses TLS.
extension TLSStream: TLSSession {
    /// See ``TLSStream/leastRoom``.
    public var leastRoom: Int { Self.leastRoom }

    /// The cipher contexts of one thread.
    public func makeWorkspace() -> any TLSWorkspace { AEADContexts() }

    /// See ``TLSStream/handshake(using:)``.
    public func handshake(using workspace: any TLSWorkspace) throws(TLSFailure) -> TLSStep {
        do throws(CryptoError) {
            return try handshake(using: Self.contexts(workspace))
        } catch {
            throw TLSFailure(error)
        }
    }

    /// The version, the cipher suite and the host name.
    public var details: TLSDetails { TLSDetails(version: version, cipher: cipher, serverName: serverName) }

    /// Returns what was negotiated, and then leaves the handshake: see ``TLSStream/leaveHandshake(using:)``.
    public func finishHandshake(using workspace: any TLSWorkspace) -> TLSAgreement {
        let agreement = TLSAgreement(negotiatedProtocol: negotiatedProtocol, certificate: peerCertificate)
        leaveHandshake(using: Self.contexts(workspace))
        return agreement
    }

    /// See ``TLSStream/read(into:using:)``.
    public func read(
        into buffer: inout MutableSpan<UInt8>, using workspace: any TLSWorkspace
    ) throws(TLSFailure) -> TLSTransfer {
        do throws(CryptoError) {
            return try read(into: &buffer, using: Self.contexts(workspace))
        } catch {
            throw TLSFailure(error)
        }
    }

    /// See ``TLSStream/write(_:using:)``.
    public func write(
        _ bytes: Span<UInt8>, using workspace: any TLSWorkspace
    ) throws(TLSFailure) -> TLSTransfer {
        do throws(CryptoError) {
            return try write(bytes, using: Self.contexts(workspace))
        } catch {
            throw TLSFailure(error)
        }
    }

    /// See ``TLSStream/shutdown(using:)``.
    public func shutdown(using workspace: any TLSWorkspace) { shutdown(using: Self.contexts(workspace)) }

    /// See ``TLSStream/release(using:)``.
    public func release(using workspace: any TLSWorkspace) { release(using: Self.contexts(workspace)) }

    private static func contexts(_ workspace: any TLSWorkspace) -> AEADContexts {
        guard let contexts = workspace as? AEADContexts else {
            preconditionFailure("bug: one loop has sessions of two TLS libraries")
        }
        return contexts
    }
}

extension AEADContexts: TLSWorkspace {
    /// See ``AEADContexts/forgetKeys()``.
    public func turnEnded() { forgetKeys() }
}

extension TLSContext: TLSProvider {
    /// Makes a server's stream.
    public func accept(_ descriptor: Int32) throws(TLSFailure) -> any TLSSession {
        do throws(CryptoError) {
            return try TLSStream(accepting: descriptor, context: self)
        } catch {
            throw TLSFailure(error)
        }
    }

    /// Makes a client's stream.
    public func connect(_ descriptor: Int32, serverName: String) throws(TLSFailure) -> any TLSSession {
        do throws(CryptoError) {
            return try TLSStream(context: self, descriptor: descriptor, serverName: serverName)
        } catch {
            throw TLSFailure(error)
        }
    }
}

extension TLSFailure {
    /// Converts the error to the transport's own type.
    fileprivate init(_ error: CryptoError) {
        let origin: Origin =
            switch error.origin {
            case .local: .local
            case .peer: .peer
            case .connection: .connection
            }
        self.init(origin, error.description, name: error.name, isNotTLS: error.isNotTLS)
    }
}
