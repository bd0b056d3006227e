// A post of the app: a photo with a caption, and the comments on it.
//
// Made by `PostController`, from what the user writes and from records.
//
// Folder: what the app is about, without calls. Read `Post`, then `Comment`.

import CloudKit

/// A photo with a caption.
final class Post {
    static let recordType = "Post"

    enum Key {
        static let caption = "caption"
        static let photo = "photo"
        static let timestamp = "timestamp"
        static let commentCount = "commentCount"
    }

    let recordID: CKRecord.ID
    let caption: String
    let timestamp: Date
    /// The file of the photo on this machine.
    let photoURL: URL?
    /// How many comments the server counts; not all of them need be in `comments`.
    var commentCount: Int
    /// The comments that were fetched, the oldest first.
    var comments: [Comment] = []

    init(
        caption: String,
        photoURL: URL?,
        timestamp: Date = Date(),
        commentCount: Int = 0,
        recordID: CKRecord.ID = CKRecord.ID(recordName: UUID().uuidString)
    ) {
        self.caption = caption
        self.photoURL = photoURL
        self.timestamp = timestamp
        self.commentCount = commentCount
        self.recordID = recordID
    }

    /// The post that a record keeps; nil if it lacks something.
    convenience init?(record: CKRecord) {
        guard let caption = record[Key.caption] as? String,
            let timestamp = record[Key.timestamp] as? Date,
            let commentCount = record[Key.commentCount] as? Int
        else { return nil }
        self.init(
            caption: caption,
            photoURL: (record[Key.photo] as? CKAsset)?.fileURL,
            timestamp: timestamp,
            commentCount: commentCount,
            recordID: record.recordID
        )
    }
}

extension CKRecord {
    /// The record of a new post.
    convenience init(post: Post) {
        self.init(recordType: Post.recordType, recordID: post.recordID)
        self[Post.Key.caption] = post.caption
        self[Post.Key.timestamp] = post.timestamp
        self[Post.Key.commentCount] = post.commentCount
        if let url = post.photoURL { self[Post.Key.photo] = CKAsset(fileURL: url) }
    }
}
