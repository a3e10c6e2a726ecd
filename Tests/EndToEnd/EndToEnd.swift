import Testing

/// Tests of Postrider's programs with clients from other projects: curl, nghttp, aioapns, grpcio, h2.
///
/// They run one after the other, because each starts its own programs.
@Suite("End to end", .serialized)
struct EndToEnd {}
