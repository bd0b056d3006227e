// Where a query goes on.
//
// Made of the client library's cursors.

internal import Cumulus
public import Foundation

/// Where a query goes on after a page: `CKQueryOperation.Cursor`.
public final class CKQueryCursor: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The cursor as the client library takes it.
    let model: QueryCursor

    init(_ model: QueryCursor) {
        self.model = model
    }

    /// Whether both go on in the same query at the same place.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKQueryCursor)?.model == model
    }

    /// Equal for equal cursors.
    public override var hash: Int { model.hashValue }

    /// The cursor itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True: a cursor archives only a text.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the cursor.
    public func encode(with coder: NSCoder) {
        coder.encode(model.text as NSString, forKey: "cursor")
    }

    /// A cursor from an archive; nil if the archive holds no cursor.
    public convenience init?(coder: NSCoder) {
        guard let text = coder.decodeText(forKey: "cursor"),
            let model = QueryCursor(text: text)
        else { return nil }
        self.init(model)
    }
}
