// What a token of the shared database says about the view of its holder: 8 bytes of a digest for
// each zone, or the roots of trees.
//
// Made for the tokens of `FetchDatabaseChanges` and `FetchZoneChanges`.

import Crypto
import CumulusModel
import CumulusStorage

enum ViewDigest {
    static func zone(_ zone: Commit.Zone) -> UInt64 {
        digest("zone") { writer in
            writer.database(zone.database)
            writer.delimited(zone.name.utf8)
            writer.varint(zone.generation)
        }
    }

    static func roots(_ roots: [ChangeToken.Root]) -> UInt64 {
        digest("roots") { ChangeToken.Root.write(roots, to: &$0) }
    }

    private static func digest(_ what: String, _ write: (inout CanonicalWriter) -> Void) -> UInt64 {
        var writer = CanonicalWriter()
        writer.delimited(what.utf8)
        write(&writer)
        return SHA256.hash(data: writer.bytes).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension FoundZone {
    /// What a token says about its holder; nil except in another user's zone.
    func viewer(_ caller: Caller) -> ChangeToken.Viewer? {
        rights.view.map { ChangeToken.Viewer(user: caller.user, seen: $0.seen) }
    }
}

extension AccessRights.View {
    /// What a token says about this view.
    fileprivate var seen: ChangeToken.Viewer.Seen {
        if wholeZone != nil { return .wholeZone }
        return .init(roots)
    }
}

extension ChangeToken.Viewer.Seen {
    init(_ roots: [ChangeToken.Root]) {
        self =
            roots.count > ChangeToken.Root.most
            ? .manyRoots(digest: ViewDigest.roots(roots)) : .roots(roots)
    }
}
