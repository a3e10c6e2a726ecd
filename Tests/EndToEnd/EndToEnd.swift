import Testing

/// The whole of Postrider, as programs, met by clients that nobody here wrote: curl, nghttp, aioapns, grpcio, h2.
///
/// One after the other: each test starts programs of its own.
@Suite("End to end", .serialized)
struct EndToEnd {}
