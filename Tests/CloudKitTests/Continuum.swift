// Posts and comments as a student's app has them: handlers, references, counters, follows.

import CloudKit
import Foundation

struct PostKeys {
    static let type = "Post"
    static let caption = "caption"
    static let commentCount = "commentCount"
    static let photo = "photo"
}

class Post {
    let caption: String
    var commentCount: Int
    var comments: [Comment] = []
    let recordID: CKRecord.ID

    init(caption: String, commentCount: Int = 0, recordID: CKRecord.ID = CKRecord.ID()) {
        self.caption = caption
        self.commentCount = commentCount
        self.recordID = recordID
    }

    init?(record: CKRecord) {
        guard let caption = record[PostKeys.caption] as? String,
            let commentCount = record[PostKeys.commentCount] as? Int
        else { return nil }
        self.caption = caption
        self.commentCount = commentCount
        self.recordID = record.recordID
    }
}

class Comment {
    let text: String
    let recordID: CKRecord.ID
    weak var post: Post?

    var postReference: CKRecord.Reference? {
        guard let post = post else { return nil }
        return CKRecord.Reference(recordID: post.recordID, action: .deleteSelf)
    }

    init(text: String, post: Post, recordID: CKRecord.ID = CKRecord.ID()) {
        self.text = text
        self.post = post
        self.recordID = recordID
    }

    convenience init?(record: CKRecord, post: Post) {
        guard let text = record["text"] as? String else { return nil }
        self.init(text: text, post: post, recordID: record.recordID)
    }
}

extension CKRecord {
    convenience init(post: Post) {
        self.init(recordType: PostKeys.type, recordID: post.recordID)
        self.setValue(post.caption, forKey: PostKeys.caption)
        self.setValue(post.commentCount, forKey: PostKeys.commentCount)
    }

    convenience init(comment: Comment) {
        self.init(recordType: "Comment", recordID: comment.recordID)
        self.setValuesForKeys(["text": comment.text])
        self.setValue(comment.postReference, forKey: "post")
    }
}

class PostController {
    static let shared = PostController()
    let publicDB = CKContainer.default().publicCloudDatabase
    var posts: [Post] = []

    func create(caption: String, completion: @escaping (Result<Post, Error>) -> Void) {
        let post = Post(caption: caption)
        publicDB.save(CKRecord(post: post)) { record, error in
            if let error = error { return completion(.failure(error)) }
            guard let record = record, let saved = Post(record: record) else {
                return completion(.failure(CKError(.internalError)))
            }
            self.posts.insert(saved, at: 0)
            completion(.success(saved))
        }
    }

    func addComment(_ text: String, to post: Post, completion: @escaping (Comment?) -> Void) {
        let comment = Comment(text: text, post: post)
        post.comments.append(comment)
        publicDB.save(CKRecord(comment: comment)) { record, error in
            guard error == nil, record != nil else { return completion(nil) }
            self.incrementCommentCount(for: post) { success in
                completion(success ? comment : nil)
            }
        }
    }

    func incrementCommentCount(for post: Post, completion: ((Bool) -> Void)?) {
        post.commentCount += 1
        let operation = CKModifyRecordsOperation(
            recordsToSave: [CKRecord(post: post)],
            recordIDsToDelete: nil
        )
        operation.savePolicy = .changedKeys
        operation.modifyRecordsResultBlock = { result in
            switch result {
            case .success: completion?(true)
            case .failure: completion?(false)
            }
        }
        publicDB.add(operation)
    }

    func fetchComments(for post: Post, completion: @escaping ([Comment]?) -> Void) {
        let reference = CKRecord.Reference(recordID: post.recordID, action: .none)
        let ofPost = NSPredicate(format: "%K == %@", "post", reference)
        let held = post.comments.compactMap({ $0.recordID })
        let fresh = NSPredicate(format: "NOT(recordID IN %@)", held)
        let both = NSCompoundPredicate(andPredicateWithSubpredicates: [ofPost, fresh])
        let query = CKQuery(recordType: "Comment", predicate: both)
        publicDB.perform(query, inZoneWith: nil) { records, error in
            guard let records = records else { return completion(nil) }
            completion(records.compactMap { Comment(record: $0, post: post) })
        }
    }

    func toggleFollow(_ post: Post, completion: @escaping (Bool, Error?) -> Void) {
        let id = post.recordID.recordName
        publicDB.fetch(withSubscriptionID: id) { subscription, _ in
            if let subscription = subscription {
                self.publicDB.delete(withSubscriptionID: subscription.subscriptionID) { _, error in
                    completion(false, error)
                }
                return
            }
            let predicate = NSPredicate(
                format: "%K == %@",
                argumentArray: ["post", CKRecord.Reference(recordID: post.recordID, action: .none)]
            )
            let follow = CKQuerySubscription(
                recordType: "Comment",
                predicate: predicate,
                subscriptionID: id,
                options: .firesOnRecordCreation
            )
            let info = CKSubscription.NotificationInfo()
            info.alertBody = "A new comment was added to a post that you follow."
            info.desiredKeys = nil
            info.shouldSendContentAvailable = true
            follow.notificationInfo = info
            self.publicDB.save(follow) { saved, error in completion(saved != nil, error) }
        }
    }
}
