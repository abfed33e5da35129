package untrusted

import (
	"fmt"
	"strings"
	"testing"
)

// secretTexts hold a secret where %s stands, as an argument by itself or in the midst of a message: addresses, what
// libraries write into a traceback, and values that give themselves away.
var secretTexts = []string{
	"postgresql+psycopg2://trainer:%s@db/runs", "mongodb+srv://me:%s@cluster0.example/x?w=1",
	"redis://:%s@cache:6379/0", "amqp://guest:%s@mq//", "https://oauth2:%s@gitlab.example/a/b.git",
	"https://%s:x-oauth-basic@github.com/a/b",
	"https://b.s3.amazonaws.com/k?X-Amz-Credential=%s%%2F20260101&X-Amz-Expires=60",
	"https://b.s3.amazonaws.com/k?AWSAccessKeyId=X&Expires=1&Signature=%s",
	"https://storage.googleapis.com/b/k?GoogleAccessId=a&Expires=1&Signature=%s",
	"https://d1.cloudfront.net/x?Expires=1&Signature=%s&Key-Pair-Id=K1",
	"https://b.oss-cn-beijing.aliyuncs.com/k?x-oss-signature=%s",
	"https://b.cos.ap-guangzhou.myqcloud.com/k?q-sign-algorithm=sha1&q-signature=%s",
	"https://minio.example/b/k?X-Amz-Signature=%s#frag", "https://f002.backblazeb2.com/file/b/k?Authorization=%s",
	"https://x.example/dl?access_token=%s&v=2", "https://x.example/dl?v=2&apikey=%s",
	"/vsicurl/https://me:%s@host/a.tif",
	"requests.exceptions.HTTPError: 401 Client Error for url: https://me:%s@host/a",
	"huggingface_hub.errors: Invalid credentials, token=%s", "KeyError: 'password=%s'",
	"botocore: SignatureDoesNotMatch https://b.s3.amazonaws.com/k?X-Amz-Signature=%s",
	"sqlalchemy.exc.OperationalError: postgresql://u:%s@db/x", "ValueError: {'api_key': '%s'}",
	"urllib3: Header Authorization: Bearer %s refused", "OSError: cannot open /data/token=%s/a.h5",
	"RuntimeError: env HF_TOKEN=%s is invalid", "subprocess.CalledProcessError: Command 'curl -u me:%s x' returned 1",
	"ghs_%[1]s%[1]s", "ghu_%[1]s%[1]s", "ghr_%[1]s%[1]s", "wandb_v1_%[1]s%[1]s", "sk-%sT3BlbkFJ", "ya29.%[1]s%[1]s",
	"npm_%[1]s%[1]sx123", "pypi-AgEIcHlwaS5vcmc%[1]s%[1]s", "SG.%[1]sabcdef.%[1]s%[1]sabcdefghijk",
	"dckr_pat_%[1]s%[1]s", "rk_live_%[1]s%[1]s", "gsk_%[1]s%[1]s%[1]s", "r8_%[1]s%[1]sabcde",
	"Endpoint=sb://a.example/;SharedAccessKeyName=Root;SharedAccessKey=%s=",
}

func TestTextHidesSecrets(t *testing.T) {
	for _, form := range secretTexts {
		text := fmt.Sprintf(form, plant)
		for _, shown := range []string{Message(text), CommandLine(raw([]string{text}), Redaction{})[0]} {
			if half := len(plant) / 2; strings.Contains(shown, plant[:half]) || strings.Contains(shown, plant[half:]) {
				t.Errorf("%q leaks into %q", text, shown)
			}
		}
	}
}

// moreKept are look-alikes as keptCases are, of real training scripts.
var moreKept = strings.Split(
	strings.ReplaceAll(`--tokenizer-path /m/tok.json|--max-new-tokens 128|--num-kv-heads 8|--key-value-proj-dim 64|--mask-token-id 103|--cls-token-pool
--tokens-per-sample 512|--keypoint-loss-weight 0.5|--keys-to-drop a,b|--monkey-patch|--password-policy strict|--use-auth-token false|--token-type-vocab-size 2
--n-key 4|--query-key-value-bias|--label-key label|--image-key image.jpg|--text-key caption|--dataset-key train|--sort-key length|--batch-key x|--group-by-key user
--cache-key-prefix run1|--pass-through|--n-passes 2|--forward-pass-only|--compass-size 9|--signal-length 16000|--sig-level 0.05|--signature-dim 3
--design-matrix x.csv|--author jane|--authors-file a.txt|--cookie-cutter-template t|--credit-scale 2|--bearing 45|--basic-block resnet|--hash-buckets 1000|--hash-size 64|--commit-every 100
--git-hash 0a1b2c3d|--sha256-check true|--seed 1234567|--rng-key 42|--run-id 3f2a9c1d|--uuid 123e4567-e89b-12d3-a456-426614174000|--exp-name exp_2026_01_01|--access-mode r|--private-dataset false
--public-key-path /k.pub|--client-id 7|--session-name s1|--api-version v1|--api-url https://api.example/v1|--hub-model-id me/model|--hub-strategy every_save|--wandb-project vision|--wandb-entity team
--wandb-mode offline|--hf-home /data/hf|--aws-region eu-west-1|--s3-bucket data|--bucket-size-mb 25|--gradient-checkpointing true|--persistent-workers 1|--pin-memory true|--dsn-len 4|--jwt-alg HS256
--license-type apache-2.0|--secure-mode no|--secretary-problem-n 10|--tokenize-on-the-fly|--detokenize|--image-token-index 32000|--num-image-tokens 576|--bos-token-id 1|--pad-to-multiple-of 8
--key-bias false|--value-bias true|OMP_NUM_THREADS=8|NCCL_DEBUG=INFO|KEY_DIM=64|MAX_TOKENS=4096|PYTHONHASHSEED=0|CUDA_VISIBLE_DEVICES=0|LD_LIBRARY_PATH=/usr/lib
SSH_AUTH_SOCK=/run/a|model.token_embedding=512|data.key_map.image=x|trainer.max_tokens=100|{"max_tokens": 512, "top_k": 3}|{"tokenizer": "gpt2", "key_dim": 8}|{"image_key": "jpg"}
https://x.example/a?page=2&sort=key|s3://bucket/key/part-00001|git@github.com:a/b.git|https://github.com/a/b/tree/0a1b2c3d4e5f60718293a4b5c6d7e8f901234567|sha256:0a1b2c3d4e5f60718293a4b5c6d7e8f901234567deadbeefdeadbeefdeadbeef
/models/sk-learn-pipeline/v2|/data/tokens/shard-0001.bin|/data/keys_and_values.npy|hf_hub_download.py|task-manager-token-bucket|--optimizer.key=adam|--scheduler.pass_epoch=3|-m torch.distributed.run|--rdzv-id 123456`, "\n", "|"), "|")
