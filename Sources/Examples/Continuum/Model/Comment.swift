// A comment on a post, which is deleted with the post.
//
// Made by `PostController`.

import CloudKit

/// A comment below a post.
struct Comment {
    static let recordType = "Comment"

    enum Key {
        static let text = "text"
        static let timestamp = "timestamp"
        static let post = "post"
    }

    let recordID: CKRecord.ID
    let text: String
    let timestamp: Date
    let postReference: CKRecord.Reference

    init(text: String, post: Post) {
        recordID = CKRecord.ID(recordName: UUID().uuidString)
        self.text = text
        timestamp = Date()
        postReference = CKRecord.Reference(recordID: post.recordID, action: .deleteSelf)
    }

    /// The comment that a record keeps; nil if it lacks something.
    init?(record: CKRecord) {
        guard let text = record[Key.text] as? String,
            let timestamp = record[Key.timestamp] as? Date,
            let post = record[Key.post] as? CKRecord.Reference
        else { return nil }
        recordID = record.recordID
        self.text = text
        self.timestamp = timestamp
        postReference = post
    }
}

extension CKRecord {
    /// The record of a new comment.
    convenience init(comment: Comment) {
        self.init(recordType: Comment.recordType, recordID: comment.recordID)
        self[Comment.Key.text] = comment.text
        self[Comment.Key.timestamp] = comment.timestamp
        self[Comment.Key.post] = comment.postReference
    }
}
