import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.*;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * A webhook receiver for Java 17 or later, with the JDK only.
 *
 * It verifies the signature and the time of each attempt, handles each delivery once, and answers 2xx after it was handled.
 *
 *     WEBHOOK_SECRET=... PORT=4000 LC_ALL=C.UTF-8 java Receiver.java
 *
 * Java reads the environment in the encoding of the locale: without a UTF-8 one, a secret with other letters is read wrongly.
 */
public class Receiver {
  // While a secret is rotated, the old one is accepted too.
  static final List<String> SECRETS =
      Stream.of("WEBHOOK_SECRET", "OLD_WEBHOOK_SECRET").map(System::getenv).filter(s -> s != null && !s.isEmpty()).toList();
  static final long TOLERANCE_SECONDS = 300;
  static final int MAX_BYTES = 1_048_576;
  // Which deliveries were handled. A table with a primary key does the same: see packages/client/src/stores.ts.
  static final Path HANDLED = Path.of(System.getenv().getOrDefault("HANDLED", "handled"));
  static final long CLAIM_SECONDS = 60;

  /** Your code. It has ten seconds; an exception makes the service send the delivery again. `body` is the event, as JSON. */
  static void handle(String id, String event, String body) {
    if (event.equals("charge.pix.paid")) System.out.println("paid");
    System.out.println("handled " + id + " " + event);
  }

  /** The bytes of the key: whsec_ and base64 are the decoded bytes, any other text is its UTF-8 bytes. */
  static byte[] keyOf(String secret) {
    if (secret.startsWith("whsec_")) {
      try {
        byte[] key = Base64.getDecoder().decode(secret.substring(6));
        if (key.length > 0) return key;
      } catch (IllegalArgumentException notBase64) {
        // The text itself is the key.
      }
    }
    return secret.getBytes(StandardCharsets.UTF_8);
  }

  /** Why a delivery is not accepted, or null. */
  static String refusal(String id, String sent, String given, byte[] body, long nowSeconds) throws Exception {
    if (SECRETS.isEmpty()) return "no secret";
    if (id == null || given == null || sent == null || !sent.matches("\\d{1,12}")) return "missing header";
    boolean isOurs = false;
    for (String secret : SECRETS) {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(keyOf(secret), "HmacSHA256"));
      mac.update((id + "." + sent + ".").getBytes(StandardCharsets.UTF_8));
      String expected = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
      for (String signature : given.split(" ")) {
        // Every comparison is made, each in constant time.
        isOurs |= MessageDigest.isEqual(expected.getBytes(StandardCharsets.UTF_8), signature.getBytes(StandardCharsets.UTF_8));
      }
    }
    if (!isOurs) return "wrong signature: compare the secrets, and verify the raw body";
    return Math.abs(nowSeconds - Long.parseLong(sent)) <= TOLERANCE_SECONDS ? null : "too old: check the clock";
  }

  /** The status to answer. A claim of a process that died ends after a minute. */
  static int handleOnce(String id, String event, String body) throws Exception {
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(id.getBytes(StandardCharsets.UTF_8));
    String name = HexFormat.of().formatHex(digest);
    Files.createDirectories(HANDLED);
    Path claim = HANDLED.resolve(name), done = HANDLED.resolve(name + ".done");
    try {
      Files.createFile(claim);
    } catch (FileAlreadyExistsException claimed) {
      try {
        Instant at = Files.getLastModifiedTime(claim).toInstant();
        if (at.isAfter(Instant.now().minusSeconds(CLAIM_SECONDS))) return 503;
        Files.setLastModifiedTime(claim, java.nio.file.attribute.FileTime.from(Instant.now()));
      } catch (NoSuchFileException ended) {
        return 503;
      }
    }
    // Only with the claim: another one may have handled it until then.
    if (Files.exists(done)) {
      Files.deleteIfExists(claim);
      return 204;
    }
    try {
      handle(id, event, body);
    } catch (RuntimeException error) {
      Files.deleteIfExists(claim);
      System.err.println("failed " + error);
      return 500;
    }
    Files.move(claim, done, StandardCopyOption.ATOMIC_MOVE);
    return 204;
  }

  static int statusOf(HttpExchange exchange) throws Exception {
    if (!exchange.getRequestMethod().equals("POST")) return 405;
    byte[] body = exchange.getRequestBody().readNBytes(MAX_BYTES + 1);
    if (body.length > MAX_BYTES) {
      // A sender that is still sending would lose the answer with the connection.
      exchange.getRequestBody().transferTo(OutputStream.nullOutputStream());
      return 413;
    }
    var headers = exchange.getRequestHeaders();
    String id = headers.getFirst("webhook-id"), sent = headers.getFirst("webhook-timestamp");
    String reason = refusal(id, sent, headers.getFirst("webhook-signature"), body, Instant.now().getEpochSecond());
    if (reason != null) {
      System.err.println("refused " + reason);
      return 401;
    }
    String text = new String(body, StandardCharsets.UTF_8);
    // A test of the endpoint is about no money. Read the JSON with a library where your code needs its fields.
    if (text.matches("(?s).*\"data\":\\{(\"(id|object)\":\"[^\"]*\",){0,2}\"test\":true.*")) return 204;
    // The headers beside those of the signature are not signed: the name is that of the body.
    var event = Pattern.compile("\\A\\{\"id\":\"[^\"]*\",\"object\":\"event\",\"event\":\"([^\"]+)\"").matcher(text);
    return event.find() ? handleOnce(id, event.group(1), text) : 400;
  }

  public static void main(String[] arguments) throws IOException {
    int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "4000"));
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.setExecutor(Executors.newFixedThreadPool(16));
    server.createContext("/", exchange -> {
      int status = 500;
      try {
        status = statusOf(exchange);
      } catch (Exception error) {
        System.err.println("failed " + error);
      }
      exchange.sendResponseHeaders(status, -1);
      exchange.close();
    });
    server.start();
    System.out.println("listening " + server.getAddress().getPort());
  }
}
