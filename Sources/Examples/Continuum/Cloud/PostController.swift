// The posts that the app holds, and what can be done with them.
//
// Used by `PostsScreen` and `AppDelegate`.

import CloudKit

@MainActor
final class PostController {
    let cloud = CloudManager()

    /// The newest first.
    private(set) var posts: [Post] = []

    // MARK: - Posts

    func createPost(photoURL: URL, caption: String) async throws -> Post {
        let post = Post(caption: caption, photoURL: photoURL)
        _ = try await cloud.save(CKRecord(post: post))
        posts.insert(post, at: 0)
        return post
    }

    /// Fetches all posts; posts that the app holds keep their fetched comments.
    func fetchPosts() async throws {
        let records = try await cloud.records(
            of: Post.recordType,
            where: NSPredicate(value: true),
            sortedBy: Post.Key.timestamp,
            ascending: false
        )
        let held = posts
        posts = records.compactMap { record in
            let post = Post(record: record)
            post?.comments = held.first { $0.recordID == record.recordID }?.comments ?? []
            return post
        }
    }

    /// The post of that record, which is fetched if the app doesn't hold it yet.
    func post(_ id: CKRecord.ID) async throws -> Post? {
        if let post = posts.first(where: { $0.recordID == id }) { return post }
        guard let post = Post(record: try await cloud.fetch(id)) else { return nil }
        // It may have been fetched twice at a time.
        if let other = posts.first(where: { $0.recordID == id }) { return other }
        posts.append(post)
        posts.sort { $0.timestamp > $1.timestamp }
        return post
    }

    /// Deletes a post, and the server deletes its comments.
    func delete(_ post: Post) async throws {
        try await cloud.delete(post.recordID)
        posts.removeAll { $0.recordID == post.recordID }
    }

    // MARK: - Comments

    /// Saves a comment, and counts it on its post.
    func addComment(_ text: String, to post: Post) async throws {
        let comment = Comment(text: text, post: post)
        _ = try await cloud.save(CKRecord(comment: comment))
        // A notification may have fetched it meanwhile.
        if !post.comments.contains(where: { $0.recordID == comment.recordID }) {
            post.comments.append(comment)
        }
        post.commentCount = try await cloud.raise(Post.Key.commentCount, of: post.recordID)
    }

    /// Fetches the comments on a post that the app does not hold yet.
    ///
    /// - Returns: The new ones.
    func fetchComments(for post: Post) async throws -> [Comment] {
        let ofPost = NSPredicate(
            format: "%K == %@",
            Comment.Key.post,
            CKRecord.Reference(recordID: post.recordID, action: .none)
        )
        let isNew = NSPredicate(format: "NOT (recordID IN %@)", post.comments.map(\.recordID))
        let records = try await cloud.records(
            of: Comment.recordType,
            where: NSCompoundPredicate(andPredicateWithSubpredicates: [ofPost, isNew]),
            sortedBy: Comment.Key.timestamp,
            ascending: true
        )
        // A notification may have brought one meanwhile.
        let held = Set(post.comments.map(\.recordID))
        let new = records.compactMap(Comment.init).filter { !held.contains($0.recordID) }
        post.comments = (post.comments + new).sorted { $0.timestamp < $1.timestamp }
        post.commentCount = max(post.commentCount, post.comments.count)
        return new
    }
}
