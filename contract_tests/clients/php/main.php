<?php

/** A customer's program with OpenAPI Generator's client for PHP, and Debian's php-guzzlehttp-guzzle. */

declare(strict_types=1);

use OpenAPI\Client\Api\DeliveriesApi;
use OpenAPI\Client\Api\MediaApi;
use OpenAPI\Client\Api\MessagesApi;
use OpenAPI\Client\Api\NumbersApi;
use OpenAPI\Client\Api\SignupApi;
use OpenAPI\Client\Api\WebhooksApi;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model;
use OpenAPI\Client\ObjectSerializer;

require __DIR__ . '/client/vendor/autoload.php';

// A warning is a failure.
set_error_handler(static fn (int $level, string $text) => throw new ErrorException($text, 0, $level));

const RECIPIENT = '15551234567';
const PICTURE = 'https://example.com/parcel.png';
const EVENTS = [
    'message.received' => Model\MessageReceivedEvent::class,
    'message.sent' => Model\MessageSentEvent::class,
    'message.delivered' => Model\MessageDeliveredEvent::class,
    'message.read' => Model\MessageReadEvent::class,
    'message.failed' => Model\MessageFailedEvent::class,
    'message.echoed' => Model\MessageEchoedEvent::class,
    'message.edited' => Model\MessageEditedEvent::class,
    'message.deleted' => Model\MessageDeletedEvent::class,
    'call.updated' => Model\CallUpdatedEvent::class,
    'number.activated' => Model\NumberActivatedEvent::class,
    'number.disconnected' => Model\NumberDisconnectedEvent::class,
    'number.banned' => Model\NumberBannedEvent::class,
    'template.updated' => Model\TemplateUpdatedEvent::class,
    'number.updated' => Model\NumberUpdatedEvent::class,
    'contact.updated' => Model\ContactUpdatedEvent::class,
    'broadcast.started' => Model\BroadcastStartedEvent::class,
    'broadcast.paused' => Model\BroadcastPausedEvent::class,
    'broadcast.completed' => Model\BroadcastCompletedEvent::class,
];

/** The actions of the platform and the recipient, which are not in the gateway's contract. */
function sandbox(string $path, array|stdClass $body): array
{
    $answer = (new GuzzleHttp\Client())->post(getenv('SANDBOX_URL') . "/_sandbox/$path", ['json' => $body]);
    return json_decode((string) $answer->getBody(), true, flags: JSON_THROW_ON_ERROR);
}

/** Connects a number through the public signup routes, like its owner. */
function connect(Configuration $config): Model\ConnectedNumber
{
    $signup = new SignupApi(null, $config);
    $link = $signup->getSignupLink(getenv('SLUG'));
    $granted = sandbox('signup', new stdClass());
    $claim = new Model\CompleteSignupRequest([
        'code' => $granted['code'],
        'phone_number_id' => $granted['phone_number_id'],
        'waba_id' => $granted['waba_id'],
    ]);
    return $signup->completeSignup($link->getSlug(), $claim);
}

function send(MessagesApi $messages, Model\ModelInterface $request, string $idempotency_key): string
{
    return $messages->sendMessage($request, $idempotency_key)->getId();
}

function text(string $number): Model\SendTextRequest
{
    $text = (new Model\TextContent())->setBody('Your order has shipped.');
    return new Model\SendTextRequest(['number_id' => $number, 'to' => RECIPIENT, 'type' => 'text', 'text' => $text]);
}

/** An image as a reply, a location, a list, a template and a reaction. */
function others(string $number, string $answered): array
{
    $to = ['number_id' => $number, 'to' => RECIPIENT];
    $context = new Model\MessageContext(['message_id' => $answered]);
    $image = new Model\CaptionedMediaByLink(['link' => PICTURE, 'caption' => 'A parcel']);
    $place = new Model\LocationContent(['latitude' => 52.5, 'longitude' => 13.25, 'name' => 'The shop']);
    $rows = [
        new Model\ListRow(['id' => '1', 'title' => 'Morning']),
        new Model\ListRow(['id' => '2', 'title' => 'Evening']),
    ];
    $list = new Model\InteractiveList([
        'type' => 'list',
        'body' => new Model\InteractiveListBody(['text' => 'When?']),
        'action' => new Model\InteractiveListAction([
            'button' => 'Pick',
            'sections' => [new Model\ListSection(['rows' => $rows])],
        ]),
    ]);
    $thumb = new Model\ReactionContent(['message_id' => $answered, 'emoji' => '👍']);
    return [
        'image' => new Model\SendImageRequest([...$to, 'type' => 'image', 'context' => $context, 'image' => $image]),
        'location' => new Model\SendLocationRequest([...$to, 'type' => 'location', 'location' => $place]),
        'interactive' => new Model\SendInteractiveRequest([...$to, 'type' => 'interactive', 'interactive' => $list]),
        'template' => new Model\SendTemplateRequest([...$to, 'type' => 'template', 'template' => template()]),
        'reaction' => new Model\SendReactionRequest([...$to, 'type' => 'reaction', 'reaction' => $thumb]),
    ];
}

/** A template with a picture, a name and a button. */
function template(): Model\TemplateContent
{
    $picture = new Model\ImageHeader(['type' => 'image', 'image' => new Model\MediaByLink(['link' => PICTURE])]);
    $name = new Model\TextParameter(['type' => 'text', 'text' => 'Ana']);
    $stop = new Model\PayloadParameter(['type' => 'payload', 'payload' => 'STOP']);
    return new Model\TemplateContent([
        'name' => 'order_update',
        'language' => new Model\TemplateLanguage(['code' => 'en_US']),
        'components' => [
            new Model\TemplateHeader(['type' => 'header', 'parameters' => [$picture]]),
            new Model\TemplateBody(['type' => 'body', 'parameters' => [$name]]),
            new Model\TemplateButton([
                'type' => 'button',
                'sub_type' => Model\TemplateButtonKind::QUICK_REPLY,
                'index' => '0',
                'parameters' => [$stop],
            ]),
        ],
    ]);
}

/** Uploads a picture, has the recipient send it, and downloads it. */
function exchange_picture(Configuration $config, Model\ConnectedNumber $number, string $secret): string
{
    $media = new MediaApi(null, $config);
    file_put_contents('parcel.png', 'a picture');
    $uploaded = $media->uploadMedia($number->getId(), new SplFileObject('parcel.png'));
    $image = ['id' => $uploaded->getId()];
    sandbox('inbound', ['to' => $number->getPhoneNumber(), 'from' => RECIPIENT, 'type' => 'image', 'image' => $image]);
    $message = next_event($secret)->getData();
    if ($message->getBody()['mime_type'] !== $uploaded->getMimeType()) {
        throw new RuntimeException('the picture has another type');
    }
    $picture = $media->downloadMedia($message->getId());
    return $picture->fread($picture->getSize());
}

/** The event of the webhook's newest delivery, as the gateway stores it. getDelivery() cannot parse it: see parse(). */
function newest_payload(Configuration $config, string $webhook): array
{
    $deliveries = new DeliveriesApi(null, $config);
    $newest = $deliveries->listWebhookDeliveries($webhook, limit: 1)->getData()[0];
    $answer = (new GuzzleHttp\Client())->send($deliveries->getDeliveryRequest($newest->getId()));
    return tell(parse(json_encode(json_decode((string) $answer->getBody())->payload)));
}

/** An event by its kind. The generated class Event cannot tell them apart. */
function parse(string $body): Model\ModelInterface
{
    $event = json_decode($body, flags: JSON_THROW_ON_ERROR);
    return ObjectSerializer::deserialize($event, EVENTS[$event->event]);
}

/** The event kind, the message or number, and the phone number in the event. */
function tell(Model\ModelInterface $event): array
{
    $about = $event->getData();
    $phone = match (true) {
        $about instanceof Model\Message, $about instanceof Model\Call => $about->getFromNumber(),
        $about instanceof Model\Template => $about->getName(),
        $about instanceof Model\Contact, $about instanceof Model\Broadcast => $about->getNumberId(),
        default => $about->getPhoneNumber(),
    };
    return [$event->getEvent(), $about->getId(), $phone];
}

/** Verifies and parses the next delivery. */
function next_event(string $secret): Model\ModelInterface
{
    $delivery = json_decode(fgets(STDIN), true, flags: JSON_THROW_ON_ERROR);
    $expected = 'sha256=' . hash_hmac('sha256', $delivery['body'], $secret);
    if (!hash_equals($expected, $delivery['headers']['x-service-signature'])) {
        throw new RuntimeException('a wrong signature');
    }
    return parse($delivery['body']);
}

function receive(string $secret, int $count): array
{
    $received = [];
    while (count($received) < $count) {
        $received[] = tell(next_event($secret));
    }
    return $received;
}

/** The error for a number that does not exist. */
function refusal(Configuration $config): array
{
    try {
        (new NumbersApi(null, $config))->getNumber('num_unknown');
    } catch (ApiException $refused) {
        $answer = $refused->getResponseObject();
        return ['status' => $answer->getError()->getStatus(), 'code' => $answer->getError()->getCode()];
    }
    throw new RuntimeException('an unknown number was found');
}

$config = (new Configuration())->setHost(getenv('BASE_URL'))->setAccessToken(getenv('API_KEY'));
$messages = new MessagesApi(null, $config);
$webhooks = new WebhooksApi(null, $config);
$subscription = new Model\CreateWebhookRequest([
    'url' => getenv('RECEIVER_URL'),
    'events' => Model\EventKind::getAllowableEnumValues(),
]);
$webhook = $webhooks->createWebhook($subscription, 'crm');
if ($webhooks->createWebhook($subscription, 'crm') != $webhook) {
    throw new RuntimeException('there are two webhooks');
}
$number = connect($config);
$received = receive($webhook->getSecret(), 1);
$first = send($messages, text($number->getId()), 'order-4711');
if (send($messages, text($number->getId()), 'order-4711') !== $first) {
    throw new RuntimeException('it was sent twice');
}
array_push($received, ...receive($webhook->getSecret(), 3));
$picture = exchange_picture($config, $number, $webhook->getSecret());
$rotated = $webhooks->rotateWebhookSecret($webhook->getId());
$sent = ['text' => $first];
foreach (others($number->getId(), $first) as $type => $request) {
    $sent[$type] = send($messages, $request, "php-$type");
}
array_push($received, ...receive($rotated->getSecret(), 15));
$payload = newest_payload($config, $webhook->getId());
$kind = new Model\TestWebhookRequest(['event' => Model\EventKind::NUMBER_BANNED]);
$test = $webhooks->testWebhook($webhook->getId(), $kind);
[$sample] = receive($rotated->getSecret(), 1);
$webhooks->deleteWebhook($webhook->getId());
$history = $messages->getMessage($first)->getStatusHistory();
echo json_encode([
    'number' => $number->getId(),
    'sent' => $sent,
    'history' => array_map(static fn (Model\StatusChange $step) => $step->getStatus(), $history),
    'received' => $received,
    'secrets' => [$webhook->getSecret(), $rotated->getSecret()],
    'picture' => $picture,
    'payload' => $payload,
    'test' => ['success' => $test->getSuccess(), 'status' => $test->getStatusCode()],
    'sample' => $sample,
    'refusal' => refusal($config),
    'examples' => array_map(static fn (string $line) => tell(parse($line)), file(getenv('EVENTS'))),
], JSON_THROW_ON_ERROR);
